"""Web push: encrypted for one browser, signed as ours, handed to the push service that the browser chose."""

import json
import re
from collections.abc import Mapping
from functools import cache
from time import time
from typing import Any
from urllib.parse import SplitResult, urlsplit

from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.asymmetric import ec
from django.templatetags.static import static
from django.utils.translation import gettext

from rooms.conf import setting
from rooms.lifecycle import Person
from rooms.models import Notice, PushSubscription
from rooms.models.notifications import ENDPOINT_LENGTH
from rooms.notifications import safe_http
from rooms.notifications.channels import push_encryption
from rooms.notifications.content import Letter

# How long a push service keeps it for a device that is off: tomorrow's person looks at the page instead.
KEPT_SECONDS = 24 * 3600
# A signature is for one push service and may be seen by it: half of what they accept at most.
SIGNED_SECONDS = 12 * 3600
# More than anybody carries around; a script could else fill the table.
DEVICES_PER_PERSON = 20
# Empty but for tests and networks without a way out: what is open to webhooks is not open to every browser.
NETWORKS = "PUSH_ALLOWED_NETWORKS"


class NotADevice(Exception):
    """What a browser sent cannot be sent to: the sentence says why."""


# ---- our own key -----------------------------------------------------------------------------------------


def public_key() -> str:
    """What a browser needs to let us, and nobody else, send to it; empty where the site has no key."""
    own_key = _own_key(setting("VAPID_PRIVATE_KEY"))
    return push_encryption.encoded(push_encryption.point_of(own_key.public_key())) if own_key else ""


@cache
def _own_key(text: str) -> ec.EllipticCurvePrivateKey | None:
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


def add_device(user: Person, said: str, user_agent: str) -> PushSubscription:
    """Keep what a browser's `pushManager.subscribe` gave, as JSON; a browser is one device, however often."""
    try:
        told = json.loads(said)
        endpoint, keys = str(told["endpoint"]), told["keys"]
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
    # Somebody else may have signed in with the same browser: it is theirs now.
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
    """Anybody who signs in tells us where to send: a service that a browser would take, or Refused."""
    parts = safe_http.check(endpoint)
    if parts.scheme != "https" and not setting(NETWORKS):
        raise safe_http.Refused(gettext("The address of a push service must begin with https://."))
    return parts


# In this order: most browsers call themselves by the names of others as well.
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
    """By what somebody tells their devices apart."""
    browser = next((name for mark, name in BROWSERS if mark in user_agent), gettext("Browser"))
    system = next((name for mark, name in SYSTEMS if mark in user_agent), "")
    return (
        gettext("%(browser)s on %(system)s") % {"browser": browser, "system": system} if system else browser
    )


# ---- sending ---------------------------------------------------------------------------------------------


def send(device: PushSubscription, message: Mapping[str, Any]) -> None:
    """Hand a `payload` to the browser's push service, or raise why not."""
    own_key = _own_key(setting("VAPID_PRIVATE_KEY"))
    if own_key is None:
        raise safe_http.Refused(gettext("Push notifications are not set up on this site."))
    parts = _checked(device.endpoint)
    claims = {
        "aud": f"{parts.scheme}://{parts.netloc}",
        "exp": int(time()) + SIGNED_SECONDS,
        "sub": _subject(),
    }
    headers = {
        "Authorization": push_encryption.authorization(own_key, claims),
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "TTL": str(KEPT_SECONDS),
        "Urgency": "low" if message["settled"] else "high",
        # What the device has not fetched yet is replaced by what follows: "answered" instead of "asked".
        "Topic": topic_of(message["tag"]),
    }
    # Every character in its own bytes: escaped it would take up to 12 of the 4,000 that there are.
    body = encrypted(device, json.dumps(message, ensure_ascii=False).encode())
    reply = safe_http.post(device.endpoint, body, headers, networks=NETWORKS)
    if reply.status in (404, 410):
        raise safe_http.Gone(gettext("The browser’s push subscription has expired or was revoked."))
    if reply.status == 429 or reply.status >= 500:
        raise safe_http.Unreachable(reply.in_words, reply.retry_after_seconds)
    if not reply.is_ok:
        raise safe_http.Refused(reply.in_words)


def payload(letter: Letter) -> dict[str, Any]:
    """What service-worker.js shows. Not for the thread that sends: it knows no address of the site."""
    return {
        "title": letter.title,
        "body": letter.body,
        "tag": letter.tag,
        "url": letter.path,
        "settled": letter.is_over,
        # Rings although something of this card is shown already.
        "renotify": letter.kind == Notice.Kind.ESCALATED,
        "icon": static("ask_bridge/icon-192.png"),
    }


def topic_of(tag: str) -> str:
    """At most 32 characters of base64url, and the same for the same card."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", tag.removeprefix("card-"))[:32]


def encrypted(device: PushSubscription, plain: bytes) -> bytes:
    """Readable by this one browser."""
    browser_key = push_encryption.public_key(device.p256dh)
    return push_encryption.encrypt(plain, browser_key, push_encryption.decoded(device.auth))
