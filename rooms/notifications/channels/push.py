"""Web push channel: devices, and messages encrypted for one browser and signed with the VAPID key."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, partial
from time import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.asymmetric import ec
from django.db.models import Q
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from rooms.conf import setting
from rooms.lifecycle import Person
from rooms.models import Notice, PushSubscription
from rooms.models.notifications import ENDPOINT_LENGTH
from rooms.notifications import safe_http
from rooms.notifications.actions import offered_labels
from rooms.notifications.channels import push_encryption
from rooms.notifications.channels.channel import NO_RECEIVER, People, PersonalChannel, Recipient
from rooms.notifications.content import Content

# How long a push service keeps a message for a device that is off. After a day the page is the better place.
KEPT_SECONDS = 24 * 3600
# A push service can replay a signature while it is valid: half of the longest time that they accept.
SIGNED_SECONDS = 12 * 3600
# More than one person uses. Without a limit a script could fill the table.
DEVICES_PER_PERSON = 20
# Its default is empty. Separate from that of webhooks, because any signed-in browser names an endpoint.
NETWORKS = "PUSH_ALLOWED_NETWORKS"


class NotADevice(Exception):
    """A subscription that cannot be sent to: the sentence says why."""


class PushChannel(PersonalChannel):
    name = Notice.Channel.PUSH
    receiver_field = "subscription"
    related = ("subscription",)
    deletes_gone_receivers = True

    def users_who_may_want(self, room: Any) -> Q:
        return Q(pk__in=PushSubscription.objects.values("user"))

    def recipients_of(self, people: People) -> Iterable[Recipient]:
        return [recipient(device) for device in PushSubscription.objects.filter(user__in=people)]

    def has_recipient(self, notice: Notice) -> bool:
        """Also False after another person has signed in with the browser."""
        return notice.subscription is not None and notice.subscription.user_id == notice.user_id

    def recipient_of_outcome(self, notice: Notice) -> Recipient | None:
        return recipient(notice.subscription) if notice.subscription and self.has_recipient(notice) else None

    def same_host(self, notice: Notice) -> Q:
        if notice.subscription is None:
            return super().same_host(notice)
        parts = urlsplit(notice.subscription.endpoint)
        return Q(subscription__endpoint__startswith=f"{parts.scheme}://{parts.netloc}/")

    def send_later(self, notice: Notice, content: Content) -> Callable[[], None]:
        if notice.subscription is None:
            raise safe_http.Refused(NO_RECEIVER)
        return partial(send, notice.subscription, payload(content, actions_of(notice)))

    def receiver_name(self, notice: Notice) -> str:
        return notice.subscription.label if notice.subscription else ""

    def fields_after_success(self, now: datetime) -> dict[str, Any]:
        return {"last_success_at": now}

    def no_recipient_text(self) -> str:
        return gettext("Add a device first.")

    def success_text(self, tests: Sequence[Notice]) -> str:
        count = len(tests)
        return ngettext("Sent to %(count)s device.", "Sent to %(count)s devices.", count) % {"count": count}


def recipient(device: PushSubscription) -> Recipient:
    fields = {"user_id": device.user_id, "subscription": device}
    return Recipient(Notice.Channel.PUSH, device.pk, fields, device.user_id, device.created_at)


# ---- the site's VAPID key --------------------------------------------------------------------------------


def public_key() -> str:
    """The key that a browser subscribes with, so that only this site can send to it; empty without one."""
    site_key = _site_key(setting("VAPID_PRIVATE_KEY"))
    return push_encryption.encoded(push_encryption.point_of(site_key.public_key())) if site_key else ""


@cache
def _site_key(text: str) -> ec.EllipticCurvePrivateKey | None:
    try:
        return push_encryption.private_key(text) if text else None
    except ValueError:
        return None


def _subject() -> str:
    origin = urlsplit(setting("ORIGIN"))
    if origin.scheme == "https":
        return setting("VAPID_SUBJECT") or setting("ORIGIN")
    return setting("VAPID_SUBJECT") or f"mailto:ask-bridge@{origin.hostname or 'localhost'}"


# ---- devices ---------------------------------------------------------------------------------------------


def add_device(user: Person, subscription: str, user_agent: str) -> PushSubscription:
    """Store the JSON of a browser's `pushManager.subscribe`; the same browser stays one device."""
    try:
        parsed = json.loads(subscription)
        endpoint, keys = str(parsed["endpoint"]), parsed["keys"]
        p256dh, auth = str(keys["p256dh"]), str(keys["auth"])
        push_encryption.public_key(p256dh)
        is_secret = len(push_encryption.decoded(auth)) == 16
        _checked(endpoint)
    except (ValueError, TypeError, KeyError, RecursionError, InvalidKey, safe_http.Refused):
        raise NotADevice(gettext("This is not a valid push subscription.")) from None
    if not is_secret or len(endpoint) > ENDPOINT_LENGTH or "\x00" in endpoint:
        raise NotADevice(gettext("This is not a valid push subscription."))
    mine = PushSubscription.objects.filter(user=user.pk)
    if mine.exclude(endpoint=endpoint).count() >= DEVICES_PER_PERSON:
        raise NotADevice(gettext("You have too many devices: remove one first."))
    # If another person signed in with the same browser before, the device moves to this one.
    fields = {
        "user_id": user.pk,
        "p256dh": p256dh,
        "auth": auth,
        "label": label_of(user_agent),
        "failures": 0,
    }
    device, _ = PushSubscription.objects.update_or_create(endpoint=endpoint, defaults=fields)
    return device


def _checked(endpoint: str) -> SplitResult:
    """Any signed-in user chooses this URL: only what a browser would accept, else Refused."""
    parts = safe_http.check(endpoint)
    if parts.scheme != "https" and not setting(NETWORKS):
        raise safe_http.Refused(gettext("The address of a push service must begin with https://."))
    return parts


# In this order: most browsers also send the names of others.
BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("Firefox", "Firefox"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
)
SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS", "Mac"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def label_of(user_agent: str) -> str:
    """A name by which people tell their devices apart."""
    browser = next((name for mark, name in BROWSERS if mark in user_agent), gettext("Browser"))
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return (
        gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system} if system else browser
    )


# ---- sending ---------------------------------------------------------------------------------------------


def send(device: PushSubscription, message: Mapping[str, Any]) -> None:
    """Post a `payload` to the browser's push service, or raise why it was not accepted."""
    site_key = _site_key(setting("VAPID_PRIVATE_KEY"))
    if site_key is None:
        raise safe_http.Refused(gettext("Push notifications are not set up on this site."))
    parts = _checked(device.endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(time()) + SIGNED_SECONDS,
        "sub": _subject(),
    }
    headers = {
        "Authorization": push_encryption.authorization(site_key, claims),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(KEPT_SECONDS),
        "Urgency": "low" if message["settled"] else "high",
        # A later message replaces one that the device has not fetched yet: "answered" instead of "asked".
        "Topic": topic_of(message["tag"]),
    }
    # Not escaped: an escaped character would take up to 12 of the 4,000 bytes.
    body = encrypted(device, json.dumps(message, ensure_ascii=False).encode())
    reply = safe_http.post(device.endpoint, body, headers, networks=NETWORKS)
    if reply.status in (404, 410):
        raise safe_http.Gone(gettext("The browser’s push subscription has expired or was revoked."))
    if reply.status == 429 or reply.status >= 500:
        raise safe_http.Unreachable(reply.in_words, reply.retry_after_seconds)
    if not reply.is_ok:
        raise safe_http.Refused(reply.in_words)


def actions_of(notice: Notice) -> dict[str, Any]:
    """The buttons that answer, and what service-worker.js needs for them; empty without any."""
    question = notice.question
    labels = offered_labels(question, notice.user) if question and notice.kind != Notice.Kind.SETTLED else []
    if not question or not labels:
        return {}
    return {
        "actions": [{"action": str(index), "title": label} for index, label in enumerate(labels)],
        "answer": reverse("ask_bridge:push-answer", args=(question.room.slug, question.pk)),
        "unsent": gettext("Could not send your answer. Open the card to try again."),
    }


def payload(content: Content, actions: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What service-worker.js shows. Not for the sending thread: `static` needs the script prefix."""
    return {
        **(actions or {}),
        "title": content.title,
        "body": content.body,
        "tag": content.tag,
        "url": content.path,
        "settled": content.is_over,
        # Rings again although a notification of this card is already shown.
        "renotify": content.kind == Notice.Kind.ESCALATED,
        "icon": static("ask_bridge/icon-192.png"),
    }


def topic_of(tag: str) -> str:
    """At most 32 characters of base64url; the same for all messages of a card."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", tag.removeprefix("card-"))[:32]


def encrypted(device: PushSubscription, plain: bytes) -> bytes:
    """Readable only by this browser."""
    browser_key = push_encryption.public_key(device.p256dh)
    return push_encryption.encrypt(plain, browser_key, push_encryption.decoded(device.auth))
