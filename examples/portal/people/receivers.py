"""Signal receiver for single sign-on: the groups of a person are those that the provider names."""

from typing import Any

from allauth.account.signals import user_logged_in
from django.contrib.auth.models import Group
from django.dispatch import receiver

from people.models import Person


@receiver(user_logged_in)
def set_groups(user: Person, sociallogin: Any = None, **signal: Any) -> None:
    """From the claim `groups`, at each sign-in; names of groups that the portal does not have are ignored."""
    if sociallogin:
        named = sociallogin.account.extra_data["userinfo"].get("groups") or []
        user.groups.set(Group.objects.filter(name__in=named))
