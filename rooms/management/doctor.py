"""Inspection of a portal by `manage.py ask_bridge_doctor`: its settings and what they lead to."""

import asyncio
import platform
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import django
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.conf import settings
from django.contrib.staticfiles import finders
from django.contrib.staticfiles.storage import staticfiles_storage
from django.core.checks import ERROR, WARNING, CheckMessage
from django.core.checks.registry import registry
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor
from django.shortcuts import resolve_url
from django.urls import reverse

import rooms
from rooms import checks
from rooms.apps import RoomsConfig
from rooms.conf import setting
from rooms.db.readiness import check_write
from rooms.db.transactions import alias
from rooms.live import routing
from rooms.notifications.channels import email, push

# What a message needs to come back from a channel layer that works, even on a busy machine.
LAYER_SECONDS = 5
# A file that every page loads.
SCRIPT = "ask_bridge/js/start.js"


class Mark(StrEnum):
    OK = "✓"
    NOTE = "–"  # a choice, or something that is switched off
    WARNING = "!"  # works worse than it could
    FAILED = "✗"


@dataclass(frozen=True)
class Finding:
    """One sentence about one part."""

    mark: Mark
    text: str


@dataclass(frozen=True)
class Part:
    """A part of the portal: system checks by their ids, and what is tried besides if they find nothing."""

    checks: tuple[str, ...]
    look: Callable[[], Iterator[Finding]]


def ok(text: str) -> Finding:
    return Finding(Mark.OK, text)


def note(text: str) -> Finding:
    return Finding(Mark.NOTE, text)


def warning(text: str) -> Finding:
    return Finding(Mark.WARNING, text)


def failed(text: str) -> Finding:
    return Finding(Mark.FAILED, text)


def findings() -> Iterator[Finding]:
    """Everything about the portal that this process can see."""
    said: dict[str, list[Finding]] = defaultdict(list)
    for name, finding in _system_checks():
        said[name].append(finding)
    for part in PARTS:
        found = [finding for name in part.checks for finding in said.pop(name, [])]
        yield from found
        if not any(finding.mark in (Mark.FAILED, Mark.WARNING) for finding in found):
            yield from _looked_at(part)
    for _, found in sorted(said.items()):
        yield from found


def _system_checks() -> Iterator[tuple[str, Finding]]:
    """The messages of our own checks, by id: those of the portal are its own business."""
    for check in registry.get_checks(include_deployment_checks=True):
        if not check.__module__.startswith("rooms."):
            continue
        is_for_deployment = check in registry.deployment_checks
        try:
            messages = check(app_configs=None, databases=None)
        except Exception as error:  # such as a URLconf of the portal that cannot be imported
            name = getattr(check, "__name__", str(check))
            yield name, failed(f"The check {name} cannot run: {_reason(error)}")
            continue
        for message in messages:
            if not message.is_silenced():
                yield str(message.id), _as_finding(message, is_for_deployment)


def _as_finding(message: CheckMessage, is_for_deployment: bool) -> Finding:
    text = f"{message.msg} {message.hint or ''}".strip() + f" ({message.id})"
    if is_for_deployment:
        return note(text)
    return {ERROR: failed, WARNING: warning}.get(message.level, note)(text)


def _looked_at(part: Part) -> Iterator[Finding]:
    try:
        yield from part.look()
    except Exception as error:  # whatever a portal's own classes raise: the walk goes on
        yield failed(f"{part.look.__name__.strip('_').replace('_', ' ').capitalize()}: {_reason(error)}")


def _reason(error: BaseException) -> str:
    """The first line of an error, with its class if that says more."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


# ---- part by part ----------------------------------------------------------------------------------------


def _versions() -> Iterator[Finding]:
    version, place = rooms.__version__, Path(rooms.__file__).parent
    yield ok(
        f"Ask Bridge {version}, Django {django.__version__}, Python {platform.python_version()}: {place}"
    )


def _settings() -> Iterator[Finding]:
    yield ok("ASK_BRIDGE, the apps and the templates are right.")


def _addresses() -> Iterator[Finding]:
    yield ok(f"The pages are at {reverse('ask_bridge:inbox')}, and no other pattern takes their requests.")


def _application() -> Iterator[Finding]:
    if routing.is_installed:
        yield ok(f"{getattr(settings, 'ASGI_APPLICATION', None) or 'The ASGI application'} has with_live.")
    else:
        yield note("ASGI_APPLICATION is not set: --url shows whether the pages are live.")


def _middleware() -> Iterator[Finding]:
    yield ok("The middleware for sessions, CSRF and login is there.")


def _database() -> Iterator[Finding]:
    connection = connections[alias()]
    try:
        connection.ensure_connection()
        version = ".".join(map(str, connection.get_database_version()))
    except (DatabaseError, ImproperlyConfigured) as error:
        yield failed(f"The database “{alias()}” cannot be reached: {_reason(error)}")
        return
    if refused := checks.check_database_server(databases=[alias()]):
        yield from (_as_finding(message, is_for_deployment=False) for message in refused)
        return
    executor = MigrationExecutor(connection)
    targets = executor.loader.graph.leaf_nodes(RoomsConfig.label)
    missing = [migration for migration, _ in executor.migration_plan(targets)]
    if missing:
        yield failed(f"{len(missing)} migrations are not applied: run python manage.py migrate.")
        return
    try:
        check_write()
    except DatabaseError as error:
        yield failed(f"The database takes no writes: {_reason(error)}")
        return
    yield ok(f"{connection.display_name} {version} has all tables and takes writes.")


def _channel_layer() -> Iterator[Finding]:
    layer = get_channel_layer()
    if layer is None:
        return
    name = type(layer).__name__
    try:
        async_to_sync(_send_to_itself)(layer)
    except Exception as error:  # each layer has its own
        yield failed(f"{name} delivers no messages: {_reason(error)}")
        return
    yield ok(f"{name} delivers messages.")


async def _send_to_itself(layer: Any) -> None:
    """A message to a group of its own, and back."""
    group, channel = f"ask_bridge.doctor.{secrets.token_hex(4)}", await layer.new_channel()
    async with asyncio.timeout(LAYER_SECONDS):
        await layer.group_add(group, channel)
        await layer.group_send(group, {"type": "ask_bridge.doctor"})
        await layer.receive(channel)
        await layer.group_discard(group, channel)


def _static_files() -> Iterator[Finding]:
    if finders.find(SCRIPT) is None:
        yield failed(
            "The files of Ask Bridge are found by none of STATICFILES_FINDERS: keep AppDirectoriesFinder."
        )
        return
    try:
        address = staticfiles_storage.url(SCRIPT)
        is_collected = settings.DEBUG or staticfiles_storage.exists(SCRIPT)
    except (ValueError, ImproperlyConfigured) as error:
        yield failed(f"{_reason(error)} Run python manage.py collectstatic.")
        return
    if not is_collected:
        yield failed("The files of Ask Bridge are not collected: run python manage.py collectstatic.")
    elif origin := urlsplit(address).netloc:
        yield note(f"Static files come from {origin}: a Content Security Policy has to allow it.")
    else:
        yield ok(f"Static files are at {address.removesuffix(SCRIPT)}.")


def _sign_in() -> Iterator[Finding]:
    yield ok(f"People sign in at {resolve_url(settings.LOGIN_URL)}.")


def _mail() -> Iterator[Finding]:
    origin = setting("ORIGIN")
    address = urlsplit(origin)
    if not origin:
        yield note('No e-mail and no webhooks: their links need ASK_BRIDGE = {"ORIGIN": "https://…"}.')
    elif address.scheme not in ("http", "https") or not address.netloc or address.path.strip("/"):
        yield failed(f"ORIGIN is {origin!r}: give scheme and host only, such as https://portal.example.org.")
    elif not email.is_configured():
        yield note("No e-mail: the mail backend drops all messages.")
    else:
        yield ok(f"E-mail and webhooks lead to {origin}.")


def _push() -> Iterator[Finding]:
    if not setting("VAPID_PRIVATE_KEY"):
        yield note('No web push: it needs ASK_BRIDGE = {"VAPID_PRIVATE_KEY": "…"}.')
    elif not push.public_key():
        yield failed("VAPID_PRIVATE_KEY is not 32 bytes in base64url.")
    else:
        yield ok("Web push has its key.")


def _ids(names: str) -> tuple[str, ...]:
    return tuple(f"ask_bridge.{name}" for name in names.split())


PARTS = (
    Part((), _versions),
    Part(_ids("E001 E002 E003 E004 E006 W020"), _settings),
    Part(_ids("E007 E009 W007"), _addresses),
    Part(_ids("W009 W002"), _application),
    Part(_ids("E005 W006"), _middleware),
    Part(_ids("E008 E020 E021 E022 E023 W008 W004"), _database),
    Part(_ids("W003 W005"), _channel_layer),
    Part((), _static_files),
    Part(_ids("W001"), _sign_in),
    Part((), _mail),
    Part((), _push),
)
