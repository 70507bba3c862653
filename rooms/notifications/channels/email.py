"""A notice as a mail: plain text, the same as simple HTML, and a way to have no more of them."""

from email.utils import formataddr, parseaddr
from smtplib import SMTPException, SMTPRecipientsRefused, SMTPResponseException
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.core.mail.message import BadHeaderError
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext

from rooms.conf import setting
from rooms.notifications import safe_http
from rooms.notifications.content import Letter

# Where a mail goes nowhere: what the site has without EMAIL_URL.
DUMMY = "django.core.mail.backends.dummy.EmailBackend"
# For each silence of a mail server: Django alone would wait for ever.
TIMEOUT_SECONDS = 10


def are_possible() -> bool:
    """Whether the site can send mails, and knows what their links begin with."""
    return settings.EMAIL_BACKEND != DUMMY and bool(setting("ORIGIN"))


def mail_to(address: str, notice_id: str, letter: Letter) -> EmailMultiAlternatives:
    """In the language that is active."""
    choices = setting("ORIGIN") + reverse("ask_bridge:settings")
    context = {"letter": letter, "settings_address": choices}
    host = urlsplit(setting("ORIGIN")).hostname or "localhost"
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)
    mail = EmailMultiAlternatives(
        subject=letter.title,
        body=render_to_string("ask_bridge/mail.txt", context),
        from_email=formataddr((sender[0] or "Ask Bridge", sender[1])),
        to=[address],
        headers={
            # The same for every attempt: a second one of it is the same mail to most programs.
            "Message-ID": f"<{notice_id}@{host}>",
            "List-Unsubscribe": f"<{choices}>",
            "Auto-Submitted": "auto-generated",
            "X-Auto-Response-Suppress": "All",
        },
    )
    mail.attach_alternative(render_to_string("ask_bridge/mail.html", context), "text/html")
    return mail


def send(mail: EmailMultiAlternatives) -> None:
    """Hand it to the mail server, or raise why not."""
    if not are_possible():
        raise safe_http.Refused(gettext("E-mail is not set up on this site."))
    mail.connection = connection = cast(Any, get_connection())
    if getattr(connection, "timeout", 0) is None:  # a portal without EMAIL_TIMEOUT
        connection.timeout = TIMEOUT_SECONDS
    try:
        mail.send()
    except SMTPRecipientsRefused as refused:
        code, said = next(iter(refused.recipients.values()))
        raise _problem(code, said) from None
    except SMTPResponseException as refused:
        raise _problem(refused.smtp_code, refused.smtp_error) from None
    except BadHeaderError:
        raise safe_http.Refused(gettext("This is not a valid e-mail address.")) from None
    except (OSError, SMTPException) as problem:
        named = {"problem": str(problem) or type(problem).__name__}
        raise safe_http.Unreachable(
            gettext("The mail server cannot be reached: %(problem)s.") % named
        ) from None


def _problem(code: int, said: Any) -> Exception:
    """From 500 on a mail server means it for good."""
    text = said.decode(errors="replace") if isinstance(said, bytes) else str(said)
    sentence = gettext("The mail server replied %(code)s: %(said)s") % {"code": code, "said": text}
    return safe_http.Refused(sentence) if code >= 500 else safe_http.Unreachable(sentence)
