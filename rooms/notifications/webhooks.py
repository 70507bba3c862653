"""Webhooks of a room: add, switch, remove and re-encrypt them, with an audit entry for each change.

`channels/webhook.py` sends to them.
"""

import secrets
from typing import Any

from rooms import audit
from rooms.audit import Action
from rooms.crypto import CannotDecrypt, decrypt, encrypt, re_encrypt
from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Notice, Room, Webhook
from rooms.notifications import safe_http

# Separates these ciphertexts from others that are encrypted with the same SECRET_KEY.
PURPOSE = "ask_bridge.webhook"
SECRET_BYTES = 32
# More than a team reads. Without a limit a script could multiply the deliveries of every question.
WEBHOOKS_PER_ROOM = 20


class TooManyWebhooks(Exception):
    """The room has WEBHOOKS_PER_ROOM webhooks already."""


@writing()
def add(room: Room, by: Person | None, *, url: str, **fields: Any) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is shown once; `safe_http.Refused` for an impossible URL."""
    parts = safe_http.check(url)
    if Webhook.objects.filter(room=room).count() >= WEBHOOKS_PER_ROOM:
        raise TooManyWebhooks
    secret = f"abw_{secrets.token_urlsafe(SECRET_BYTES)}"
    webhook = Webhook.objects.create(
        room=room,
        created_by_id=by.pk if by else None,
        host=parts.netloc,
        locked_address=encrypt(PURPOSE, url),
        locked_secret=encrypt(PURPOSE, secret),
        **fields,
    )
    record(Action.WEBHOOK_ADDED, webhook, by)
    return webhook, secret


@writing()
def switch(webhook: Webhook, by: Person, *, is_enabled: bool) -> None:
    """Enable or disable it."""
    if Webhook.objects.filter(pk=webhook.pk).exclude(is_enabled=is_enabled).update(is_enabled=is_enabled):
        record(Action.WEBHOOK_CHANGED, webhook, by, enabled=is_enabled)


@writing()
def remove(webhook: Webhook, by: Person) -> None:
    """Delete it with its address and its secret."""
    record(Action.WEBHOOK_REMOVED, webhook, by)
    webhook.delete()


def record(action: Action, webhook: Webhook, by: Person | None, **details: Any) -> None:
    """Write an audit entry. It names the host, not the whole address, which may contain a token."""
    named = {"label": webhook.label, "host": webhook.host, **details}
    audit.record(action, webhook.room, audit.actor_of(by), str(webhook.pk), **named)


def url_and_secret(webhook: Webhook) -> tuple[str, str]:
    """Decrypted; CannotDecrypt if they were encrypted with a SECRET_KEY that is not known any more."""
    return decrypt(PURPOSE, webhook.locked_address), decrypt(PURPOSE, webhook.locked_secret)


@writing()
def relock_all() -> tuple[int, int]:
    """Encrypt all with the current SECRET_KEY; returns how many webhooks succeeded, and how many failed."""
    renewed = failed = 0
    for webhook in Webhook.objects.select_for_update():
        try:
            webhook.locked_address = re_encrypt(PURPOSE, webhook.locked_address)
            webhook.locked_secret = re_encrypt(PURPOSE, webhook.locked_secret)
        except CannotDecrypt:
            failed += 1
            continue
        webhook.save(update_fields=["locked_address", "locked_secret"])
        renewed += 1
    return renewed, failed


def last_attempted(webhook: Webhook) -> Notice | None:
    """The newest notification of which a delivery was attempted."""
    return webhook.notices.filter(attempts__gt=0).order_by("-created_at").first()
