"""System checks (`manage.py check`) of a portal's settings for Ask Bridge. docs/portal.md lists the ids."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
from django.urls import (
    LocalePrefixPattern,
    NoReverseMatch,
    Resolver404,
    ResolverMatch,
    URLResolver,
    get_resolver,
    get_script_prefix,
    resolve,
    reverse,
)
from django.utils.module_loading import import_string
from django.utils.translation import get_language

from rooms import conf, membership
from rooms.live import routing
from rooms.models import Room
from rooms.permissions import Permissions
from rooms.profiles import Profiles

APPS = ("django.contrib.auth", "django.contrib.sessions", "django.contrib.staticfiles")
MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
)
# The settings that name a class, with what it has to be a subclass of, and an example.
CLASSES: dict[str, tuple[type, str]] = {
    "PERMISSIONS": (Permissions, "portal.permissions.TeamPermissions"),
    "PROFILES": (Profiles, "portal.profiles.TeamProfiles"),
}
# Of Django's backends; that of MariaDB is called like MySQL's.
VENDORS = ("postgresql", "mysql", "sqlite")
CONTEXT_PROCESSOR = "django.template.context_processors.request"
ASGI_HINT = 'Set it to "rooms.asgi.application", or to your own with with_live, and start an ASGI server.'


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
    elif name in CLASSES:
        yield from _class_messages(name, value)
    elif name.endswith("_ALLOWED_NETWORKS"):
        yield from _networks_messages(name, value)
    elif name in conf.CHOICES:
        if value not in conf.CHOICES[name]:
            allowed = " or ".join(f'"{choice}"' for choice in conf.CHOICES[name])
            yield Error(f"ASK_BRIDGE[{name!r}] is {value!r}.", hint=f"Give {allowed}.", id="ask_bridge.E002")
    elif isinstance(conf.DEFAULTS[name], str):
        if not isinstance(value, str):
            yield Error(
                f"ASK_BRIDGE[{name!r}] is no text.", hint='Write it in "quotes".', id="ask_bridge.E002"
            )
    else:
        # 0 switches some limits off; the other numbers have to be at least 1.
        least = 0 if name.endswith(conf.MAY_BE_ZERO) else 1
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


def _class_messages(name: str, path: Any) -> Iterator[CheckMessage]:
    base, example = CLASSES[name]
    try:
        found = import_string(path)
    except (ImportError, AttributeError, TypeError) as error:
        reason = str(error)
    else:
        if isinstance(found, type) and issubclass(found, base):
            return
        reason = f"{path} is no subclass of {base.__module__}.{base.__name__}"
    yield Error(
        f"ASK_BRIDGE[{name!r}] cannot be used: {reason}.",
        hint=f'Name your class as text, such as "{example}".',
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
    missing = [
        Error(f"Ask Bridge needs {path}.", hint="Add it to MIDDLEWARE.", id="ask_bridge.E005")
        for path in MIDDLEWARE
        if not any(isinstance(one, type) and issubclass(one, import_string(path)) for one in installed)
    ]
    # Each runs twice for every request; a line of an older version of our document added the second.
    repeated = [
        Warning(f"{path} is in MIDDLEWARE twice.", hint="Remove one of them.", id="ask_bridge.W006")
        for path in (*MIDDLEWARE, "django_htmx.middleware.HtmxMiddleware")
        if settings.MIDDLEWARE.count(path) > 1
    ]
    return [*missing, *repeated]


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
    return [*_misplaced_addresses(), *_login_messages()]


# One of each kind: a page, a page of a room, the API, a probe.
SAMPLE_ADDRESSES: tuple[tuple[str, dict[str, str]], ...] = (
    ("inbox", {}),
    ("room", {"room": "lobby"}),
    ("api-questions", {"room": "lobby"}),
    ("healthz", {}),
)


def _misplaced_addresses() -> Iterator[CheckMessage]:
    """Other patterns that come first take the requests; those for languages change the agents' addresses."""
    for name, parts in SAMPLE_ADDRESSES:
        address = reverse(f"ask_bridge:{name}", kwargs=parts)
        match = _match(address)
        if match is None or "ask_bridge" not in match.app_names:
            taken = f"by “{match.route}” ({match._func_path})" if match else "by no view"
            hint = 'Put path("ask/", include("rooms.urls")) before patterns that match everything.'
            yield Error(f"{address} is answered {taken}, not by Ask Bridge.", hint=hint, id="ask_bridge.E009")
            break
    if _is_translated(get_resolver()):
        hint = "Include rooms.urls outside of it: its pages follow the language of the person anyway."
        problem = "The addresses of Ask Bridge are inside i18n_patterns: agents have one per language."
        yield Warning(problem, hint=hint, id="ask_bridge.W007")


def _match(address: str) -> ResolverMatch | None:
    try:
        return resolve(urlsplit(address).path.removeprefix(get_script_prefix().rstrip("/")))
    except Resolver404:
        return None


def _is_translated(resolver: URLResolver, inside: bool = False) -> bool:
    """Whether Ask Bridge is included below a prefix for the language."""
    inside = inside or isinstance(resolver.pattern, LocalePrefixPattern)
    if resolver.app_name == "ask_bridge":
        return inside
    below = (pattern for pattern in resolver.url_patterns if isinstance(pattern, URLResolver))
    return any(_is_translated(pattern, inside) for pattern in below)


def _login_messages() -> Iterator[CheckMessage]:
    hint = 'Set LOGIN_URL to the name or address of your login page, such as "admin:login".'
    try:
        login = resolve_url(settings.LOGIN_URL)
    except NoReverseMatch as error:
        # A lazy one reverses again where it becomes a text.
        is_text = isinstance(settings.LOGIN_URL, str)
        said = (
            f"is {settings.LOGIN_URL!r}, and no URL has this name." if is_text else f"leads nowhere: {error}"
        )
        problem = f"LOGIN_URL {said}"
        yield Warning(problem, hint=hint, id="ask_bridge.W001")
        return
    # Below `i18n_patterns` Django redirects to the page of the language.
    pages = (login, f"/{get_language()}{login}")
    if not urlsplit(login).netloc and not any(map(_match, pages)):
        yield Warning(f"There is no page to sign in at {login}.", hint=hint, id="ask_bridge.W001")


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


@register(Tags.models)
def check_groups(**options: Any) -> list[CheckMessage]:
    """The groups of the users can be members of rooms."""
    users = get_user_model()
    groups = next((field for field in users._meta.many_to_many if field.name == "groups"), None)
    if groups is None or groups.related_model is membership.group_model():
        return []
    named = groups.related_model._meta.label
    return [
        Warning(
            f"Groups cannot be members of rooms: those of {users._meta.label} are {named}.",
            hint=f'Before the first migration set ASK_BRIDGE = {{"GROUP_MODEL": "{named}"}}.',
            id="ask_bridge.W020",
        )
    ]


@register
def check_sqlite(**options: Any) -> list[CheckMessage]:
    """SQLite begins transactions so that writers wait for each other."""
    connection = connections[router.db_for_write(Room)]
    if connection.vendor != "sqlite":
        return []
    chosen = connection.settings_dict.get("OPTIONS", {}).get("transaction_mode")
    if str(chosen).upper() in ("IMMEDIATE", "EXCLUSIVE"):
        return []
    return [
        Warning(
            "SQLite refuses writes at the same time with “database is locked”.",
            hint='Add "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20} to the database.',
            id="ask_bridge.W008",
        )
    ]


@register
def check_database_settings(**options: Any) -> list[CheckMessage]:
    """A database that is supported, with settings that the promises of Ask Bridge hold with."""
    connection = connections[router.db_for_write(Room)]
    found: list[CheckMessage] = []
    if connection.vendor not in VENDORS:
        found.append(
            Error(
                f"Ask Bridge does not work with the database backend {connection.settings_dict['ENGINE']}.",
                hint="Use PostgreSQL, MariaDB or SQLite.",
                id="ask_bridge.E020",
            )
        )
    if apps.is_installed("django_tenants") or apps.is_installed("tenant_schemas"):
        found.append(
            Error(
                "Ask Bridge does not work with schemas for tenants: its streams and its background work "
                "belong to no tenant.",
                hint="Run the standalone site of Ask Bridge beside the portal, one for each tenant.",
                id="ask_bridge.E021",
            )
        )
    if connection.vendor == "mysql":
        chosen = connection.settings_dict["OPTIONS"]
        # Django's default. With another one, a request that holds a transaction reads an old state.
        if str(chosen.get("isolation_level", "read committed")).lower() != "read committed":
            found.append(
                Error(
                    "Ask Bridge needs the isolation level “read committed” on MariaDB.",
                    hint='Remove isolation_level from its OPTIONS, or set it to "read committed".',
                    id="ask_bridge.E022",
                )
            )
        if chosen.get("charset", "utf8mb4") != "utf8mb4":
            found.append(
                Error(
                    "The connection to MariaDB cannot carry all characters.",
                    hint='Remove charset from its OPTIONS, or set it to "utf8mb4".',
                    id="ask_bridge.E023",
                )
            )
    return found


@register(Tags.database)
def check_database_server(databases: Sequence[str] | None = None, **options: Any) -> list[CheckMessage]:
    """Not MySQL, which has the same backend as MariaDB; asked before `migrate`."""
    name = router.db_for_write(Room)
    connection: Any = connections[name]
    if name not in (databases or ()) or connection.vendor != "mysql" or connection.mysql_is_mariadb:
        return []
    return [
        Error("Ask Bridge does not work with MySQL.", hint="Use MariaDB or PostgreSQL.", id="ask_bridge.E020")
    ]


# ---- ASGI, and several processes -------------------------------------------------------------------------


@contextmanager
def logging_unchanged() -> Iterator[None]:
    """`get_asgi_application` sets logging up again, which disables loggers that are in use by then."""
    portal: Any = settings
    configured, portal.LOGGING_CONFIG = portal.LOGGING_CONFIG, None
    try:
        yield
    finally:
        portal.LOGGING_CONFIG = configured


@register
def check_live(**options: Any) -> list[CheckMessage]:
    """There is an ASGI application, and it is wrapped by `with_live`."""
    path = getattr(settings, "ASGI_APPLICATION", None)
    if not path:
        if routing.is_installed:
            return []  # the server was given another one
        problem = "ASGI_APPLICATION is not set: pages and agents poll."
        return [Warning(problem, hint=ASGI_HINT, id="ask_bridge.W009")]
    try:
        with logging_unchanged():
            import_string(path)
    except Exception as error:  # whatever the portal's module raises
        problem = f"ASGI_APPLICATION, {path}, cannot be imported: {error}."
        return [Warning(problem, hint=ASGI_HINT, id="ask_bridge.W009")]
    if routing.is_installed:
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
