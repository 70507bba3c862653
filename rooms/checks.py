"""System checks (`manage.py check`) of a portal's settings for Ask Bridge. docs/portal.md lists the ids."""

from collections.abc import Iterator
from difflib import get_close_matches
from ipaddress import ip_network
from typing import Any
from urllib.parse import urlsplit

from channels import DEFAULT_CHANNEL_LAYER
from channels.layers import InMemoryChannelLayer, get_channel_layer
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections, router
from django.shortcuts import resolve_url
from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.urls import NoReverseMatch, Resolver404, get_script_prefix, resolve, reverse
from django.utils.module_loading import import_string

from rooms import conf
from rooms.live import routing
from rooms.models import Room
from rooms.permissions import Permissions

APPS = ("django.contrib.auth", "django.contrib.sessions", "django.contrib.staticfiles", "django_htmx")
MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)
CONTEXT_PROCESSOR = "django.template.context_processors.request"


# ---- ASK_BRIDGE = {…} ------------------------------------------------------------------------------------


@register
def check_settings(**options: Any) -> list[CheckMessage]:
    """ASK_BRIDGE has known names, and values of the right type."""
    chosen = conf.chosen()
    if not isinstance(chosen, dict):
        return [
            Error(
                "ASK_BRIDGE is not a dictionary.", hint='Write ASK_BRIDGE = {"…": …}.', id="ask_bridge.E001"
            )
        ]
    return [message for name, value in chosen.items() for message in _setting_messages(name, value)]


def _setting_messages(name: str, value: Any) -> Iterator[CheckMessage]:
    if name not in conf.DEFAULTS:
        similar = get_close_matches(str(name).upper(), conf.DEFAULTS, 1)
        known = f"Did you mean {similar[0]}?" if similar else f"There are {', '.join(sorted(conf.DEFAULTS))}."
        yield Error(f"ASK_BRIDGE has no setting {name!r}.", hint=known, id="ask_bridge.E001")
    elif name == "PERMISSIONS":
        yield from _permissions_messages(value)
    elif name.endswith("_ALLOWED_NETWORKS"):
        yield from _networks_messages(name, value)
    elif isinstance(conf.DEFAULTS[name], str):
        if not isinstance(value, str):
            yield Error(
                f"ASK_BRIDGE[{name!r}] is no text.", hint='Write it in "quotes".', id="ask_bridge.E002"
            )
    else:
        # 0 switches a limit per minute off; the other numbers have to be at least 1.
        least = 0 if name.endswith("_PER_MINUTE") else 1
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            yield Error(
                f"ASK_BRIDGE[{name!r}] is {value!r}.",
                hint=f"Give a whole number from {least} on; {conf.DEFAULTS[name]} is the default.",
                id="ask_bridge.E002",
            )


def _networks_messages(name: str, networks: Any) -> Iterator[CheckMessage]:
    try:
        [ip_network(network) for network in networks]
        is_list = isinstance(networks, list | tuple)
    except (TypeError, ValueError):
        is_list = False
    if not is_list:
        yield Error(
            f"ASK_BRIDGE[{name!r}] is {networks!r}.",
            hint='Give a list of networks, such as ["10.0.0.0/8"].',
            id="ask_bridge.E002",
        )


def _permissions_messages(path: Any) -> Iterator[CheckMessage]:
    try:
        found = import_string(path)
    except (ImportError, AttributeError, TypeError) as error:
        reason = str(error)
    else:
        if isinstance(found, type) and issubclass(found, Permissions):
            return
        reason = f"{path} is no subclass of rooms.permissions.Permissions"
    yield Error(
        f"ASK_BRIDGE['PERMISSIONS'] cannot be used: {reason}.",
        hint='Name your class as text, such as "portal.permissions.TeamPermissions".',
        id="ask_bridge.E003",
    )


# ---- the portal's settings -------------------------------------------------------------------------------


@register
def check_apps(**options: Any) -> list[CheckMessage]:
    """The apps that the templates and the login need."""
    return [
        Error(
            f"Ask Bridge needs the app {name}.", hint=f'Add "{name}" to INSTALLED_APPS.', id="ask_bridge.E004"
        )
        for name in APPS
        if not apps.is_installed(name)
    ]


@register
def check_middleware(**options: Any) -> list[CheckMessage]:
    """The middleware for sessions, CSRF and login; subclasses count."""
    installed = [_imported(path) for path in settings.MIDDLEWARE]
    return [
        Error(f"Ask Bridge needs {path}.", hint="Add it to MIDDLEWARE.", id="ask_bridge.E005")
        for path in MIDDLEWARE
        if not any(isinstance(one, type) and issubclass(one, import_string(path)) for one in installed)
    ]


def _imported(path: str) -> Any:
    try:
        return import_string(path)
    except ImportError:
        return None  # Django reports it


@register(Tags.templates)
def check_templates(**options: Any) -> list[CheckMessage]:
    """A template engine that gives the templates the request."""
    usable = [engine for engine in engines.all() if isinstance(engine, DjangoTemplates)]
    if not usable:
        problem, hint = (
            "Ask Bridge needs Django's own templates.",
            "Add a DjangoTemplates backend to TEMPLATES.",
        )
    elif not any(CONTEXT_PROCESSOR in engine.engine.context_processors for engine in usable):
        problem, hint = (
            f"Ask Bridge needs {CONTEXT_PROCESSOR}.",
            "Add it to the context_processors of TEMPLATES.",
        )
    else:
        return []
    return [Error(problem, hint=hint, id="ask_bridge.E006")]


@register(Tags.urls)
def check_addresses(**options: Any) -> list[CheckMessage]:
    """The URLs of the app are included, and there is a login page."""
    try:
        reverse("ask_bridge:inbox")
    except NoReverseMatch:
        hint = 'Add path("ask/", include("rooms.urls")), at any prefix, to the urlpatterns.'
        return [Error("The addresses of Ask Bridge are not included.", hint=hint, id="ask_bridge.E007")]
    login = resolve_url(settings.LOGIN_URL)
    try:
        if not urlsplit(login).netloc:
            resolve(urlsplit(login).path.removeprefix(get_script_prefix().rstrip("/")))
    except Resolver404:
        hint = 'Set LOGIN_URL to the name or address of your login page, such as "admin:login".'
        return [Warning(f"There is no page to sign in at {login}.", hint=hint, id="ask_bridge.W001")]
    return []


@register(Tags.models)
def check_databases(**options: Any) -> list[CheckMessage]:
    """Rooms have members, so they have to be in the database of the users."""
    rooms, users = router.db_for_write(Room), router.db_for_write(get_user_model())
    if rooms == users:
        return []
    return [
        Error(
            f"Ask Bridge is in the database “{rooms}”, the users are in “{users}”.",
            hint="Let your database router keep the app ask_bridge where the users are.",
            id="ask_bridge.E008",
        )
    ]


# ---- ASGI, and several processes -------------------------------------------------------------------------


@register
def check_live(**options: Any) -> list[CheckMessage]:
    """The ASGI application is wrapped by `with_live`."""
    path = getattr(settings, "ASGI_APPLICATION", None)
    if not path or _imported(path) is None or routing.is_installed:
        return []
    hint = (
        "In asgi.py: application = with_live(application), from rooms.live. Until then pages and agents poll."
    )
    return [Warning(f"{path} knows nothing of Ask Bridge.", hint=hint, id="ask_bridge.W002")]


@register(deploy=True)
def check_processes(**options: Any) -> list[CheckMessage]:
    """Settings that work with one process only; how many there are is unknown here."""
    found: list[CheckMessage] = []
    layer = get_channel_layer()
    if layer is None or isinstance(layer, InMemoryChannelLayer):
        found.append(
            Warning(
                "Processes cannot wake each other: the channel layer is in the memory of one.",
                hint="Use a RedisPubSubChannelLayer, or silence this if one process serves all.",
                id="ask_bridge.W003",
            )
        )
    chosen = getattr(settings, "CHANNEL_LAYERS", {}).get(DEFAULT_CHANNEL_LAYER, {})
    if chosen.get("BACKEND", "").startswith("channels_redis.") and "prefix" not in chosen.get("CONFIG", {}):
        found.append(
            Warning(
                "Another site on the same Redis hears of what happens here: its channel layer has no prefix.",
                hint='Give each site its own: "CONFIG": {"hosts": […], "prefix": "portal"}.',
                id="ask_bridge.W005",
            )
        )
    if connections[router.db_for_write(Room)].vendor == "sqlite":
        found.append(
            Warning(
                "SQLite lets one process write at a time, and the others wait or fail.",
                hint="Use PostgreSQL, or silence this if one process serves all.",
                id="ask_bridge.W004",
            )
        )
    return found
