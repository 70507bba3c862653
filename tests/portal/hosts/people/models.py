import uuid

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models


class Staff(BaseUserManager["Colleague"]):
    def create_user(self, email: str, password: str | None = None) -> "Colleague":
        colleague = self.model(email=email)
        colleague.set_password(password)
        colleague.save(using=self._db)
        return colleague


class Colleague(AbstractBaseUser, PermissionsMixin):
    """Neither a number nor a user name, nor first and last names."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    email = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)

    USERNAME_FIELD = "email"
    objects = Staff()
