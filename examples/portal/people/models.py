import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Person(AbstractUser):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.SlugField("Team", blank=True)
    is_guest = models.BooleanField("nur zu Gast", default=False)

    class Meta:
        verbose_name = "Person"
        verbose_name_plural = "Personen"
