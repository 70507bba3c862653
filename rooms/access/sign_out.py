"""How a person signs out: by the portal's own page, and in the way that this page takes."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.shortcuts import resolve_url
from django.urls import NoReverseMatch, Resolver404, ResolverMatch, get_script_prefix, resolve, reverse
from django.utils.translation import get_language

from rooms.conf import setting

# Django's own name, that of django-allauth, and the admin's.
USUAL_NAMES = ("logout", "account_logout", "admin:logout")
# `login`, `log_in`, `signin`, `sign-in` in the name of a page.
IN = re.compile(r"(log|sign)([-_]?)in")


@dataclass(frozen=True)
class SignOut:
    """A button that sends a form, or with `get` a link."""

    address: str
    method: str


def sign_out_of(request: HttpRequest) -> SignOut | None:
    """How this person signs out; None where the portal has no page for it that we know of."""
    method = setting("LOGOUT_METHOD")
    if method == "none":
        return None
    if named := setting("LOGOUT_URL"):
        try:
            address = resolve_url(named)
        except NoReverseMatch:
            return None
        return SignOut(address, method or _method_of(address, request) or "get")
    for name in (*_name_beside_the_login(), *USUAL_NAMES):
        try:
            address = reverse(name)
        except NoReverseMatch:
            continue
        if taken := _method_of(address, request):
            return SignOut(address, method or taken)
    return None


def _name_beside_the_login() -> Iterator[str]:
    """The name of the login page with `out` in place of `in`: `customer:logout` beside `customer:login`."""
    try:
        page = _page_at(resolve_url(settings.LOGIN_URL))
    except NoReverseMatch:
        return
    if page and page.url_name and IN.search(page.url_name):
        yield ":".join([*page.namespaces, IN.sub(r"\1\2out", page.url_name)])


def _page_at(address: str) -> ResolverMatch | None:
    path = address.removeprefix(get_script_prefix().rstrip("/"))
    for shown in (path, f"/{get_language()}{path}"):  # Django redirects to the second below `i18n_patterns`
        with suppress(Resolver404):
            return resolve(shown)
    return None


def _method_of(address: str, request: HttpRequest) -> str:
    """The method that the view at this address takes; empty if it has none for this person."""
    page = _page_at(address)
    if page is None:
        return ""
    view: Any = page.func
    site = getattr(view, "admin_site", None)
    if site is not None and not site.has_permission(request):
        return ""  # the admin signs out only those who may use it
    kind = getattr(view, "view_class", None)
    if kind is None:
        return "post"  # a function: Django's way, which those that take all methods take as well
    offered = [name for name in ("post", "get") if name in kind.http_method_names and hasattr(kind, name)]
    return offered[0] if offered else ""
