"""E-mail channel: plain text with an HTML alternative, and a link to switch these mails off."""

from collections.abc import Callable, Iterable, Sequence
from email.utils import formataddr, parseaddr
from functools import partial
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core import mail as django_mail
from django.core.mail import EmailMultiAlternatives
from django.core.mail.backends.dummy import EmailBackend as DummyBackend
from django.db.models import Q
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext

from rooms.conf import setting
from rooms.models import Notice, NoticePreferences, NoticeRule
from rooms.models.notifications import OFF
from rooms.notifications import safe_http
from rooms.notifications.channels.channel import People, PersonalChannel, Recipient
from rooms.notifications.content import Content

# For each read from the mail server. Without a timeout in its settings Django has no limit.
TIMEOUT_SECONDS = 10


class EmailChannel(PersonalChannel):
    name = Notice.Channel.MAIL

    def users_who_may_want(self, room: Any) -> Q:
        by_default = NoticePreferences.objects.exclude(mail=OFF).values("user")
        in_room = NoticeRule.objects.filter(room=room).exclude(mail=None).exclude(mail=OFF).values("user")
        return Q(pk__in=by_default) | Q(pk__in=in_room)

    def recipients_of(self, people: People) -> Iterable[Recipient]:
        return [recipient(user) for user in people.values() if address_of(user)]

    def has_recipient(self, notice: Notice) -> bool:
        return bool(address_of(notice.user))

    def send_later(self, notice: Notice, content: Content) -> Callable[[], None]:
        return partial(send, mail_to(address_of(notice.user), notice.pk, content))

    def no_recipient_text(self) -> str:
        return gettext("Your account has no e-mail address.")

    def success_text(self, tests: Sequence[Notice]) -> str:
        return gettext("Sent to %(address)s.") % {"address": address_of(tests[0].user)}

    # No notice that a question is settled: a second mail would only be noise.


def recipient(user: Any) -> Recipient:
    return Recipient(Notice.Channel.MAIL, user.pk, {"user": user}, user_id=user.pk)


def address_of(user: Any) -> str:
    """The person's mail address; empty where the portal has none."""
    return str(getattr(user, user.get_email_field_name(), "") or "")


def is_configured() -> bool:
    """Whether a mail backend and the origin for links are set."""
    return bool(setting("ORIGIN")) and _connection() is not None


def _connection() -> Any:
    """The portal's mail backend; None for the one that drops all mails, as on a site without EMAIL_URL."""
    mailers: Any = getattr(django_mail, "mailers", None)
    if mailers is None:  # before Django 6.1
        connection: Any = django_mail.get_connection()
    elif "default" not in getattr(settings, "MAILERS", ["default"]):
        return None
    else:
        connection = mailers.default
    return None if isinstance(connection, DummyBackend) else connection


def mail_to(address: str, notice_id: str, content: Content) -> EmailMultiAlternatives:
    """The mail, in the active language."""
    settings_address = setting("ORIGIN") + reverse("ask_bridge:settings")
    context = {"content": content, "settings_address": settings_address}
    host = urlsplit(setting("ORIGIN")).hostname or "localhost"
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    mail = EmailMultiAlternatives(
        subject=content.title,
        body=render_to_string("ask_bridge/mail.txt", context),
        from_email=formataddr((sender[0] or "Ask Bridge", sender[1])),
        to=[address],
        headers={
            # The same for every attempt: most mail programs show a repeated mail once.
            "Message-ID": f"<{notice_id}@{host}>",
            "List-Unsubscribe": f"<{settings_address}>",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
        },
    )
    mail.attach_alternative(render_to_string("ask_bridge/mail.html", context), "text/html")
    return mail


def send(mail: EmailMultiAlternatives) -> None:
    """Send it, or raise why the mail server did not accept it."""
    connection = _connection() if is_configured() else None
    if connection is None:
        raise safe_http.Refused(gettext("E-mail is not set up on this site."))
    if getattr(connection, "timeout", 0) is None:
        connection.timeout = TIMEOUT_SECONDS
    try:
        connection.send_messages([mail])
    except SMTPRecipientsRefused as refused:
        code, said = next(iter(refused.recipients.values()))
        raise _problem(code, said) from None
    except SMTPResponseException as refused:
        raise _problem(refused.smtp_code, refused.smtp_error) from None
    except ValueError:  # Django's BadHeaderError, before 6.1
        raise safe_http.Refused(gettext("This is not a valid e-mail address.")) from None
    except (OSError, SMTPException) as problem:
        named = {"problem": str(problem) or type(problem).__name__}
        raise safe_http.Unreachable(
            gettext("The mail server cannot be reached: %(problem)s.") % named
        ) from None


def _problem(code: int, said: Any) -> Exception:
    """The exception for a reply of the mail server: codes from 500 on are permanent failures."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    sentence = gettext("The mail server replied %(code)s: %(said)s") % {"code": code, "said": text}
    return safe_http.Refused(sentence) if code >= 500 else safe_http.Unreachable(sentence)
