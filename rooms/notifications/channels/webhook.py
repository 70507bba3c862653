"""Webhook channel: posts a room's questions to other programs as signed JSON, to Slack or to ntfy.

`webhooks.py` manages the webhooks of a room.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from time import time
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext

from rooms import serializers
from rooms.conf import setting
from rooms.crypto import CannotDecrypt
from rooms.db.compiled import Select
from rooms.models import Notice, Question, Room, Webhook
from rooms.notifications import safe_http
from rooms.notifications.channels.channel import NO_RECEIVER, Channel, People, Recipient
from rooms.notifications.content import Content
from rooms.notifications.webhooks import url_and_secret

# Priorities of ntfy, from 1 to 5: an escalation rings, an answer is shown silently.
PRIORITIES = {Notice.Kind.ESCALATED: 5, Notice.Kind.SETTLED: 2}
TAGS = {Notice.Kind.ESCALATED: "rotating_light", Notice.Kind.SETTLED: "white_check_mark"}


# Run for every new question, so compiled once.
ENABLED = Select(lambda room: Webhook.objects.filter(room=room, is_enabled=True, on_asked=True))


class WebhookChannel(Channel):
    name = Notice.Channel.WEBHOOK
    receiver_field = "webhook"
    related = ("webhook__room",)

    def recipients(self, room: Room, people: People) -> Iterable[Recipient]:
        return [recipient(webhook) for webhook in ENABLED.all(room=room.pk)]

    def recipients_of_outcomes_only(self, room: Room) -> Iterable[Recipient]:
        webhooks = Webhook.objects.filter(room=room, is_enabled=True, on_asked=False, on_settled=True)
        return [recipient(webhook) for webhook in webhooks]

    def wants_outcomes_only(self, notice: Notice) -> bool:
        return notice.webhook is not None and not notice.webhook.on_asked

    def recipient_of_outcome(self, notice: Notice) -> Recipient | None:
        return recipient(notice.webhook) if notice.webhook and notice.webhook.on_settled else None

    def has_recipient(self, notice: Notice) -> bool:
        return notice.webhook is not None and notice.webhook.is_enabled

    def same_host(self, notice: Notice) -> Q:
        return Q(webhook__host=notice.webhook.host) if notice.webhook else super().same_host(notice)

    def send_later(self, notice: Notice, content: Content) -> Callable[[], None]:
        if notice.webhook is None:
            raise safe_http.Refused(NO_RECEIVER)
        event = event_about(notice, notice.question, notice.webhook.room)
        return partial(send, notice.webhook, notice.pk, content, event)

    def success_text(self, tests: Sequence[Notice]) -> str:
        return gettext("Sent and accepted.")


def recipient(webhook: Webhook, user: Any = None) -> Recipient:
    """`user` is the person who sends a test to it."""
    fields = {"webhook": webhook, "user": user}
    return Recipient(
        Notice.Channel.WEBHOOK,
        webhook.pk,
        fields,
        created_at=webhook.created_at,
        delay_minutes=webhook.after_minutes,
    )


def send(webhook: Webhook, notice_id: str, content: Content, event: Mapping[str, Any]) -> None:
    """Post it, or raise why it was not accepted."""
    if not setting("ORIGIN"):
        raise safe_http.Refused(gettext("The site’s own address is not configured: set ORIGIN."))
    try:
        url, secret = url_and_secret(webhook)
    except CannotDecrypt:
        raise safe_http.Refused(
            gettext("Its address was encrypted with another SECRET_KEY: remove the webhook and add it again.")
        ) from None
    url, message = _shaped(webhook, url, content, event)
    body = json.dumps(message).encode()
    # The same for every attempt, so that a receiver recognises a repeated delivery.
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
    """Proves to a receiver who sent this and when; docs/notifications.md shows how to verify it."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def event_about(notice: Notice, question: Question | None, room: Room) -> dict[str, Any]:
    """The JSON body: the question as in the API."""
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
    webhook: Webhook, url: str, content: Content, event: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    match webhook.kind:
        case Webhook.Kind.SLACK:
            return url, for_slack(content)
        case Webhook.Kind.NTFY:
            return for_ntfy(url, content)
        case _:
            return url, event


def for_slack(content: Content) -> dict[str, Any]:
    """Blocks with a button; `text` is for Slack's own notifications and old clients."""
    lines = [f"*{in_slack(content.title)}*", in_slack(content.body)]
    if content.agent and not content.is_over:
        lines.append(f"_{in_slack(content.agent)}_")
    blocks: list[dict[str, Any]] = [{"type": "section", "text": {"type": "mrkdwn", "text": "\n".join(lines)}}]
    if not content.is_over:
        label = gettext("Answer") if content.kind != Notice.Kind.TEST else gettext("Open")
        text = {"type": "plain_text", "text": label}
        blocks.append(
            {"type": "actions", "elements": [{"type": "button", "text": text, "url": content.address}]}
        )
    return {"text": in_slack(f"{content.title}: {content.body}"), "blocks": blocks}


# Marks of bold, italic, strike-through and code: a zero-width space before them disables them.
SLACK_MARKS = {ord(mark): f"\u200b{mark}" for mark in "*_~`"}


def in_slack(text: str) -> str:
    """Escaped, so that Slack shows the text as it is: no formatting, links or mentions."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.translate(SLACK_MARKS)


def for_ntfy(url: str, content: Content) -> tuple[str, dict[str, Any]]:
    """The server's URL and the JSON to publish, which keeps any text; the topic ends the address."""
    server, _, topic = url.partition("?")[0].rstrip("/").rpartition("/")
    query = url.partition("?")[2]
    message = {
        "topic": topic,
        "title": content.title,
        "message": content.body,
        "click": content.address,
        "priority": PRIORITIES.get(content.kind, 3),
        "tags": [TAGS.get(content.kind, "speech_balloon")],
    }
    return f"{server}/{'?' + query if query else ''}", message
