"""Company accounts: finds, links or creates the user of an account at the OpenID provider."""

import logging
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import IntegrityError, transaction
from django.db.models import Q

from bridge.models import CompanyAccount

logger = logging.getLogger(__name__)

# What Django's user names may have, beside letters and digits.
NOT_IN_USERNAMES = re.compile(r"[^\w.@+-]")
# Of the 150 characters that Django allows, with room for a number.
LONGEST_USERNAME = 145
# The second finds what another request has just stored: the same person, or a new one with the same name.
ATTEMPTS = 2
# In the log, for operators.
REASONS = {
    "taken": "the user with this e-mail address signs in with another account",
    "admin": "an e-mail address alone is not enough for an admin",
}


class Refused(Exception):
    """This account may not sign in; `why` is a name in the template that says so."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def user_of(issuer: str, claims: Mapping[str, Any]) -> Any:
    """The active user of this account, with name and address as the provider has them."""
    email = verified_email(claims)
    domains = {domain.lower() for domain in settings.OIDC_EMAIL_DOMAINS}
    if domains and email.rpartition("@")[2].lower() not in domains:
        raise Refused("domain")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with transaction.atomic():
                user = _linked(issuer, claims["sub"]) or _link(issuer, claims, email)
            break
        except IntegrityError:
            if attempt == ATTEMPTS:
                raise
    if not user.is_active:
        raise Refused("inactive")
    _update(user, claims, email)
    return user


def verified_email(claims: Mapping[str, Any]) -> str:
    """The e-mail address, as it is compared, if it belongs to the person; else "".

    The provider has to say so, or the site to trust one that says nothing. A plain no counts in any case.
    """
    is_verified = claims.get("email_verified", settings.OIDC_TRUST_EMAILS) in (
        True,
        "true",
    )  # some send a text
    return _comparable(str(claims.get("email") or "")) if is_verified else ""


def _comparable(address: str) -> str:
    """In lower case, but only of ASCII: the sign for kelvin, for example, would become a `k`."""
    return address.lower() if address.isascii() else address


def _linked(issuer: str, subject: str) -> Any:
    found = CompanyAccount.objects.filter(issuer=issuer, subject=subject).select_related("user").first()
    return found and found.user


def _link(issuer: str, claims: Mapping[str, Any], email: str) -> Any:
    """At the first time: the one user with this address, else a new user."""
    users = get_user_model()._default_manager
    # Databases take more for the same than we do: PostgreSQL “ı” and “i”, MariaDB “é” and “e” as well.
    alike = users.filter(email__iexact=email).values_list("pk", "email") if email else []
    same = [pk for pk, address in alike if _comparable(address) == email]
    if len(same) == 1:
        # Locked: of two accounts with this address, which come at once, only one is linked.
        user = users.select_for_update().get(pk=same[0])
        _check_may_link(user, issuer, claims["sub"])
    elif settings.OIDC_NEW_USERS == "refuse":
        raise Refused("unknown")
    else:
        # Without a password: such a user can sign in here in no other way.
        user = users.create_user(username=_free_username(claims, email), email=email)
    CompanyAccount.objects.create(user=user, issuer=issuer, subject=claims["sub"])
    return user


def _check_may_link(user: Any, issuer: str, subject: str) -> None:
    """Refuse where an address proves too little: for an admin, or if it may be another person's by now."""
    if not user.is_active:
        raise Refused("inactive")
    if CompanyAccount.objects.filter(user=user, issuer=issuer).exists():
        why = "taken"
    elif user.is_staff or user.is_superuser:
        why = "admin"
    else:
        return
    command = shlex.join(["manage.py", "link_company_account", user.get_username(), subject])
    logger.warning("Single sign-on refused: %s. If it is the same person, run %r", REASONS[why], command)
    raise Refused(why)


def link_instead(user: Any, issuer: str, subject: str) -> None:
    """Let this account sign in as the user, and no other account of the issuer."""
    with transaction.atomic():
        CompanyAccount.objects.filter(Q(user=user) | Q(subject=subject), issuer=issuer).delete()
        CompanyAccount.objects.create(user=user, issuer=issuer, subject=subject)


def _free_username(claims: Mapping[str, Any], email: str) -> str:
    """The name at the provider; with a number if another user has it."""
    users = get_user_model()
    given = (claims.get("preferred_username"), email.partition("@")[0], claims.get("name"), "person")
    wanted = users.normalize_username(str(next(filter(None, given))))  # as `create_user` stores it
    base = NOT_IN_USERNAMES.sub("-", wanted)[:LONGEST_USERNAME]
    known = users._default_manager.filter(username__istartswith=base).values_list("username", flat=True)
    taken = {name.lower() for name in known}
    free = (name for name in _numbered(base) if name.lower() not in taken)
    # MariaDB takes more names for the same than Python does.
    return next(name for name in free if not users._default_manager.filter(username__iexact=name).exists())


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in count(2))


def _update(user: Any, claims: Mapping[str, Any], email: str) -> None:
    """Take over name and address where the provider has them and they differ."""
    full_name = str(claims.get("name") or "")
    first, _, last = full_name.partition(" ")
    told = {
        "first_name": str(claims.get("given_name") or first)[:150],
        "last_name": str(claims.get("family_name") or (last if not claims.get("given_name") else ""))[:150],
        "email": email[:254],
    }
    changed = [name for name, value in told.items() if value and getattr(user, name) != value]
    for name in changed:
        setattr(user, name, told[name])
    if changed:
        user.save(update_fields=changed)
