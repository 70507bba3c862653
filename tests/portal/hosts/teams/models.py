from django.contrib.auth.models import AbstractUser
from django.db import models


class Team(models.Model):
    """In place of Django's groups, as NetBox has its own."""

    name = models.CharField(max_length=100, unique=True)

    def __str__(self) -> str:
        return self.name


class Member(AbstractUser):
    first_name = last_name = None  # type: ignore[assignment]
    name = models.CharField(max_length=100, blank=True)
    groups = models.ManyToManyField(Team, blank=True)  # type: ignore[assignment]
    REQUIRED_FIELDS = []
