"""As little as a durable answer needs."""

from django.db import models


class Key(models.Model):
    digest = models.CharField(max_length=64, unique=True)
    room = models.CharField(max_length=50)


class Question(models.Model):
    room = models.CharField(max_length=50)
    prompts = models.JSONField()
    answer = models.JSONField(null=True)
    asked_at = models.DateTimeField(auto_now_add=True)
