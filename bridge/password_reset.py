"""Views for a new password by e-mail, for people who have forgotten theirs.

They exist only with PASSWORD_RESET. The reply never tells whether an account exists: it is the same, and
comes as fast, because the mail is sent after it.
"""

import logging
import threading
import time
from contextvars import copy_context
from queue import Queue
from typing import Any

from django.conf import settings
from django.contrib.auth import views as auth
from django.contrib.auth.forms import PasswordResetForm
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse

from bridge.login import TooManyGuesses, TooManyResets, client_address, count_attempt, reset_guesses

logger = logging.getLogger(__name__)

# By then the reply has left: a mail that is prepared at the same time makes it 2 ms slower, and so tells who
# has an account.
PAUSE_SECONDS = 0.2


class MailThread:
    """Sends one mail at a time: a mail server that hangs must not take the threads of the site.

    A daemon thread: mail that is still queued does not delay the stop of the process.
    """

    def __init__(self) -> None:
        self._queue: Queue[Any] = Queue()
        self._start = threading.Lock()
        self._thread: threading.Thread | None = None

    def send(self, function: Any, *arguments: Any, **named: Any) -> None:
        """Call the function in the thread, with the context (the language) of the caller."""
        self._queue.put((copy_context(), function, arguments, named))
        with self._start:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="password-mail", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            context, function, arguments, named = self._queue.get()
            time.sleep(PAUSE_SECONDS)
            try:
                context.run(function, *arguments, **named)
            except Exception:
                logger.exception("A mail with a link for a new password was not sent")
            finally:
                self._queue.task_done()

    def wait(self) -> None:
        """Return when nothing is queued."""
        self._queue.join()


mail_thread = MailThread()


class ResetForm(PasswordResetForm):
    """Django's form, which sends its mail after the reply."""

    def send_mail(self, *mail: Any, **named: Any) -> None:
        # Django's method logs a failure and does not raise; people ask again when no mail comes.
        mail_thread.send(super().send_mail, *mail, **named)


class PasswordReset(auth.PasswordResetView):
    """Asks for the e-mail address. Requests are limited per address of the client and per e-mail address."""

    form_class = ResetForm
    template_name = "password_reset.html"
    email_template_name = "password_reset_mail.txt"
    subject_template_name = "password_reset_subject.txt"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        email = request.POST.get("email", "").strip().lower()
        count_attempt(f"reset {client_address(request)} {email}", TooManyResets)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: PasswordResetForm) -> HttpResponse:
        try:
            # Not a refusal: then one could keep another person from getting a new password.
            count_attempt(f"reset {form.cleaned_data['email'].lower()}", TooManyResets)
        except TooManyGuesses:
            return redirect(self.get_success_url())  # the mails that were sent still work
        # Not the host of the request, which names any host that is allowed: the link opens an account.
        self.extra_email_context = {"origin": settings.ASK_BRIDGE["ORIGIN"]}
        return super().form_valid(form)


class NewPassword(auth.PasswordResetConfirmView):
    """Asks for the new password. The link works once and for two hours, until the password changes."""

    template_name = "password_reset_confirm.html"

    def form_valid(self, form: Any) -> HttpResponse:
        reset_guesses(self.request, form.user)
        return super().form_valid(form)

    def dispatch(self, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return super().dispatch(*args, **kwargs)
        except Exception:
            # The log of a failed request must not have the token.
            self.request.path = reverse("password_reset_confirm", args=["…", "…"])
            raise
