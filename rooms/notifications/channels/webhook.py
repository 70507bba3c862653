"""Other programs that hear of a room's questions: signed JSON, Slack, ntfy."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from time import time
from typing import Any

from django.utils.translation import gettext

from rooms import audit, serializers
from rooms.audit import Action
from rooms.conf import setting
from rooms.crypto import CannotUnlock, lock, relock, unlock
from rooms.db.transactions import writing
from rooms.lifecycle import Person
from rooms.models import Notice, Question, Room, Webhook
from rooms.notifications import safe_http
from rooms.notifications.content import Letter

PURPOSE = "ask_bridge.webhook"
SECRET_BYTES = 32
# More than a team reads; a script could else multiply every question.
WEBHOOKS_PER_ROOM = 20

# Of ntfy, from 1 to 5: an escalation rings, an answer only stands there.
PRIORITIES = {Notice.Kind.ESCALATED: 5, Notice.Kind.SETTLED: 2}
TAGS = {Notice.Kind.ESCALATED: "rotating_light", Notice.Kind.SETTLED: "white_check_mark"}


# ---- made and kept ---------------------------------------------------------------------------------------


class TooManyWebhooks(Exception):
    """As many as a room may have."""


@writing()
def add(room: Room, by: Person | None, *, url: str, **fields: Any) -> tuple[Webhook, str]:
    """A new webhook and its secret, which is shown once; or `outgoing.Refused` for an impossible address."""
    parts = safe_http.check(url)
    if Webhook.objects.filter(room=room).count() >= WEBHOOKS_PER_ROOM:
        raise TooManyWebhooks
    secret = f"abw_{secrets.token_urlsafe(SECRET_BYTES)}"
    webhook = Webhook.objects.create(
        room=room,
        created_by_id=by.pk if by else None,
        host=parts.netloc,
        locked_address=lock(PURPOSE, url),
        locked_secret=lock(PURPOSE, secret),
        **fields,
    )
    record(Action.WEBHOOK_ADDED, webhook, by)
    return webhook, secret


@writing()
def switch(webhook: Webhook, by: Person, *, is_enabled: bool) -> None:
    """Let it hear again, or no more."""
    if Webhook.objects.filter(pk=webhook.pk).exclude(is_enabled=is_enabled).update(is_enabled=is_enabled):
        record(Action.WEBHOOK_CHANGED, webhook, by, enabled=is_enabled)


@writing()
def remove(webhook: Webhook, by: Person) -> None:
    """Forget its address and its secret."""
    record(Action.WEBHOOK_REMOVED, webhook, by)
    webhook.delete()


def record(action: Action, webhook: Webhook, by: Person | None, **details: Any) -> None:
    """What leaves the site is everybody's business: who sent it where, though not the whole address."""
    named = {"label": webhook.label, "host": webhook.host, **details}
    audit.record(action, webhook.room, audit.actor_of(by), str(webhook.pk), **named)


@writing()
def relock_all() -> tuple[int, int]:
    """Encrypt all addresses and secrets with the present SECRET_KEY; how many, and how many could not be."""
    renewed = lost = 0
    for webhook in Webhook.objects.select_for_update():
        try:
            webhook.locked_address = relock(PURPOSE, webhook.locked_address)
            webhook.locked_secret = relock(PURPOSE, webhook.locked_secret)
        except CannotUnlock:
            lost += 1
            continue
        webhook.save(update_fields=["locked_address", "locked_secret"])
        renewed += 1
    return renewed, lost


# ---- what is sent ----------------------------------------------------------------------------------------


def send(webhook: Webhook, notice_id: str, letter: Letter, event: Mapping[str, Any]) -> None:
    """Call it, or raise why that did not work."""
    if not setting("ORIGIN"):
        raise safe_http.Refused(gettext("The site’s own address is not configured: set ORIGIN."))
    try:
        url, secret = unlock(PURPOSE, webhook.locked_address), unlock(PURPOSE, webhook.locked_secret)
    except CannotUnlock:
        raise safe_http.Refused(
            gettext("Its address was encrypted with another SECRET_KEY: remove the webhook and add it again.")
        ) from None
    url, message = _shaped(webhook, url, letter, event)
    body = json.dumps(message).encode()
    # The same for every attempt: whoever got it already knows it by this.
    headers = {"Content-Type": "application/json", "Idempotency-Key": notice_id}
    if webhook.kind == Webhook.Kind.JSON:
        headers["X-Ask-Bridge-Signature"] = signature(secret, body, int(time()))
    reply = safe_http.post(url, body, headers, networks="WEBHOOK_ALLOWED_NETWORKS")
    if 300 <= reply.status < 400:
        raise safe_http.Refused(gettext("The receiver replied with a redirect, which is not followed."))
    if reply.status == 410:
        raise safe_http.Gone(reply.in_words)
    if not reply.is_ok:
        raise safe_http.Unreachable(reply.in_words, reply.retry_after_seconds)


def signature(secret: str, body: bytes, at: int) -> str:
    """Who knows the secret can tell that it was us, and when: docs/notifications.md has their side of it."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def event_about(notice: Notice, question: Question | None, room: Room) -> dict[str, Any]:
    """What a program is told: the question as the API has it."""
    is_test = question is None
    return {
        "id": notice.pk,
        "type": "test" if is_test else f"question.{notice.kind}",
        "created_at": serializers.time(notice.created_at),
        "room": {"slug": room.slug, "name": room.name},
        "question": None if question is None else serializers.question_object(question, _absolute),
    }


def _absolute(path: str) -> str:
    return f"{setting('ORIGIN')}{path}"


def _shaped(
    webhook: Webhook, url: str, letter: Letter, event: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    match webhook.kind:
        case Webhook.Kind.SLACK:
            return url, for_slack(letter)
        case Webhook.Kind.NTFY:
            return for_ntfy(url, letter)
        case _:
            return url, event


def for_slack(letter: Letter) -> dict[str, Any]:
    """Blocks with a button; `text` is what its own notifications and old clients show."""
    lines = [f"*{in_slack(letter.title)}*", in_slack(letter.body)]
    if letter.agent and not letter.is_over:
        lines.append(f"_{in_slack(letter.agent)}_")
    blocks: list[dict[str, Any]] = [{"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(lines)}}]
    if not letter.is_over:
        label = gettext("Answer") if letter.kind != Notice.Kind.TEST else gettext("Open")
        text = {"type": "plain_text", "text": label}
        blocks.append(
            {"type": "actions", "elements": [{"type": "button", "text": text, "url": letter.address}]}
        )
    return {"text": in_slack(f"{letter.title}: {letter.body}"), "blocks": blocks}


# What would be bold, struck out, a link or a call for everybody: an invisible space keeps it from being that.
SLACK_MARKS = {ord(mark): f"\u200b{mark}" for mark in "*_~`"}


def in_slack(text: str) -> str:
    """The text as it is, whatever Slack would make of it."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.translate(SLACK_MARKS)


def for_ntfy(url: str, letter: Letter) -> tuple[str, dict[str, Any]]:
    """Published as JSON, which any text survives: to the server, the last part of the address as topic."""
    server, _, topic = url.partition("?")[0].rstrip("/").rpartition("/")
    query = url.partition("?")[2]
    message = {
        "topic": topic,
        "title": letter.title,
        "message": letter.body,
        "click": letter.address,
        "priority": PRIORITIES.get(letter.kind, 3),
        "tags": [TAGS.get(letter.kind, "speech_balloon")],
    }
    return f"{server}/{'?' + query if query else ''}", message


def last_told(webhook: Webhook) -> Notice | None:
    """The newest thing that was tried."""
    return webhook.notices.filter(attempts__gt=0).order_by("-created_at").first()
