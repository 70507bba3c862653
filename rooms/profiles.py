"""Profiles: how a person is called and pictured on the pages. A portal can replace both.

A portal subclasses `Profiles`, changes what differs, and names its class in the settings:
`ASK_BRIDGE = {"PROFILES": "portal.profiles.TeamProfiles"}`.
"""

import re
from functools import cache
from typing import Any

from django.contrib.auth import get_user_model
from django.core.signing import BadSignature, Signer
from django.utils.module_loading import import_string

from rooms.conf import setting
from rooms.contract.lookalikes import one_line
from rooms.models import PERSON_NAME_LENGTH

# A run of so many letters and digits is an id or a hash of a single sign-on, not a name that a person chose;
# its digits or capitals tell it from a long name.
OPAQUE_RUN = re.compile(r"[0-9A-Za-z_-]{20,}")
OPAQUE_SIGNS = 3


class Profiles:
    """The full name, else the user name; initials in place of a picture."""

    def name(self, user: Any) -> str:
        """What other people read: on cards, in the history, in notifications and in the API."""
        username = str(user.get_username())
        return _full_name(user) or _own_name(user) or _before_at(_readable(username, user))

    def avatar(self, user: Any) -> str:
        """The address of a square picture of this person, a path or with https; empty for initials."""
        return ""

    @property
    def has_avatars(self) -> bool:
        """Whether `avatar` is overridden: otherwise no page asks for pictures."""
        return type(self).avatar is not Profiles.avatar


def profiles() -> Profiles:
    """An instance of the class in the setting PROFILES."""
    shown: Profiles = _class_at(setting("PROFILES"))()
    return shown


# Imported once: every answer needs it.
_class_at = cache(import_string)


def name_of(user: Any) -> str:
    """The name by the rules of the app or of the portal, on one line; never empty for a user."""
    name = one_line(str(profiles().name(user) or "")) or one_line(str(user.get_username()))
    return name[:PERSON_NAME_LENGTH]


def _full_name(user: Any) -> str:
    get_full_name = getattr(user, "get_full_name", None)
    # Django's own joins the columns of a model that has set them to None: "None None".
    words = str((get_full_name() if callable(get_full_name) else "") or "").split()
    return " ".join(word for word in words if word != "None")


def _own_name(user: Any) -> str:
    """The column `name`, in which many user models have the whole name."""
    name = getattr(user, "name", "")
    return " ".join(name.split()) if isinstance(name, str) else ""


def _readable(username: str, user: Any) -> str:
    """The user name, or the e-mail address in place of an id or a hash."""
    run = OPAQUE_RUN.search(username)
    signs = [letter for letter in run[0] if letter.isdigit() or letter.isupper()] if run else []
    # Not of its type: `request.user` is a lazy object.
    email_field = getattr(user, "get_email_field_name", None)
    email = getattr(user, email_field(), "") if email_field else ""
    return str(email) if email and len(signs) >= OPAQUE_SIGNS else username


def _before_at(username: str) -> str:
    """An e-mail address without its host: the pages are no list of addresses."""
    local, at, host = username.partition("@")
    return local if local and at and "." in host else username


# ---- pictures --------------------------------------------------------------------------------------------


def _signer() -> Signer:
    return Signer(salt="ask_bridge.avatar")


def avatar_token(user_id: Any) -> str:
    """Names a person in the address of their picture; only people whom a page shows have one."""
    return _signer().sign(str(user_id)) if user_id is not None and profiles().has_avatars else ""


def avatar_by_token(token: str) -> str | None:
    """The address of the picture, empty without one; None for a token that no page has made."""
    try:
        user_id = _signer().unsign(token)
    except BadSignature:
        return None
    user = get_user_model()._default_manager.filter(pk=user_id).first()
    return profiles().avatar(user) or "" if user else ""
