"""Who does something, as the tables name them."""

from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from rooms.models import PERSON_NAME_LENGTH

# What `request.user` is; the pages let only signed-in people come this far.
Person = AbstractBaseUser | AnonymousUser


def name_of(user: Person) -> str:
    """The full name where there is one, else the user name."""
    full_name: str = getattr(user, "get_full_name", str)()
    return (full_name or user.get_username())[:PERSON_NAME_LENGTH]


def person_fields(user: Person | None) -> dict[str, Any]:
    if user is None:
        return {}
    return {"user_id": user.pk, "username": user.get_username(), "person_name": name_of(user)}
