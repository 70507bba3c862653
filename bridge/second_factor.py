"""The second factor: codes of an authenticator app, asked for after every way to sign in.

A session counts as complete when it has the code, or when the provider of the single sign-on says that it
asked for more than one factor. Until then it reaches only these pages, those for signing in, and the logout.
Streams of pages go through this middleware as well.
"""

from typing import Any
from urllib.parse import urlencode, urlsplit

import django_otp
import segno
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.deprecation import MiddlewareMixin
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.safestring import mark_safe
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from bridge.login import TooManyCodes, count_attempt, forget_attempts
from bridge.models import Authenticator

# Key in a session whose sign-in the provider has protected with several factors.
BY_PROVIDER = "bridge.second_factor_by_provider"
# Key in the session: the encrypted secret of the app that the person is setting up.
SECRET = "bridge.second_factor_secret"  # noqa: S105 (a name)
# URL names that a session without its second factor may use: to complete it, to sign in as another person, to
# leave, and what needs no sign-in at all.
OPEN = frozenset(
    {
        *("second_factor", "second_factor_setup", "login", "logout", "admin_login", "welcome"),
        *("password_reset", "password_reset_done", "password_reset_confirm", "password_reset_complete"),
        *("single_sign_on", "single_sign_on_callback"),
        *("ask_bridge:service-worker", "ask_bridge:manifest", "ask_bridge:client-archive"),
        *("ask_bridge:healthz", "ask_bridge:readyz", "ask_bridge:metrics", "admin:logout"),
    }
)


class SecondFactorMiddleware(MiddlewareMixin):
    """Sends sessions that need a second factor to its page, whatever they ask for."""

    def process_view(
        self, request: Any, view: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> HttpResponse | None:
        name = request.resolver_match.view_name
        if name in OPEN or not request.user.is_authenticated or is_complete(request):
            return None
        if Authenticator.of(request.user):
            page = "second_factor"
        elif settings.TWO_FACTOR == "required" or name.startswith("admin:"):
            page = "second_factor_setup"
        else:
            return None
        here = request.get_full_path() if request.method in ("GET", "HEAD") else "/"
        address = f"{reverse(page)}?{urlencode({'next': here}, safe='/')}"
        if request.headers.get("HX-Request") == "true":  # a part of a page: no place for another page
            return render(request, "ask_bridge/_signed_out.html", {"login": address}, status=401)
        return redirect(address)


def is_complete(request: Any) -> bool:
    """Whether this session has its second factor."""
    return bool(request.user.is_verified() or request.session.get(BY_PROVIDER))


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def second_factor(request: HttpRequest) -> HttpResponse:
    """Ask for a code of the app or for a recovery code, and complete the session."""
    authenticator = Authenticator.of(request.user)
    if authenticator is None or is_complete(request):
        return HttpResponseRedirect(_next(request))
    context = {"next": _next(request), "by_recovery": "recovery" in request.GET}
    if request.method != "POST":
        return render(request, "second_factor.html", context)
    if not _is_right(request, authenticator, recovery=True):
        return render(request, "second_factor.html", context | {"is_wrong": True}, status=422)
    _complete(request, authenticator)
    return HttpResponseRedirect(_next(request))


@login_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def setup(request: HttpRequest) -> HttpResponse:
    """Set the app up, or manage it: new recovery codes, removal. Both need a code."""
    authenticator = Authenticator.of(request.user)
    if authenticator is None:
        return _set_up(request)
    if not is_complete(request):
        return redirect(f"{reverse('second_factor')}?{urlencode({'next': _next(request)}, safe='/')}")
    return _manage(request, authenticator)


def _set_up(request: HttpRequest) -> HttpResponse:
    # Of this session: who knew the password before may have seen the secret of another one.
    authenticator = Authenticator.begin(request.user, request.session.get(SECRET))
    request.session[SECRET] = authenticator.secret
    wrong = request.method == "POST" and not _is_right(request, authenticator, recovery=False)
    if request.method != "POST" or wrong:
        site = _site_name()
        context = {
            "authenticator": authenticator,
            "address": authenticator.address(site),
            "qr_code": qr_code(authenticator.address(site)),
            "next": _next(request),
            "is_wrong": wrong,
            "is_required": settings.TWO_FACTOR == "required",
        }
        return render(request, "second_factor_setup.html", context, status=422 if wrong else 200)
    try:
        codes = authenticator.confirm()
    except IntegrityError:
        return redirect("second_factor_setup")  # another browser was faster
    del request.session[SECRET]
    _complete(request, authenticator)
    return render(request, "second_factor_codes.html", {"codes": codes, "next": _next(request)})


def _manage(request: HttpRequest, authenticator: Authenticator) -> HttpResponse:
    wrong = request.method == "POST" and not _is_right(request, authenticator, recovery=True)
    if request.method == "POST" and not wrong:
        if "remove" in request.POST:
            authenticator.delete()
            return redirect("second_factor_setup")
        codes = authenticator.new_recovery_codes()
        return render(
            request, "second_factor_codes.html", {"codes": codes, "next": reverse("ask_bridge:settings")}
        )
    context = {
        "authenticator": authenticator,
        "left": authenticator.recovery_codes.count(),
        "is_wrong": wrong,
        "is_required": settings.TWO_FACTOR == "required",
    }
    return render(request, "second_factor_manage.html", context, status=422 if wrong else 200)


def _is_right(request: HttpRequest, authenticator: Authenticator, *, recovery: bool) -> bool:
    """Check the code that was sent. Its guesses count per person, from wherever they come."""
    subject = f"second factor {authenticator.user_id}"
    count_attempt(subject, TooManyCodes)
    code = request.POST.get("code", "")
    if not authenticator.verify_token(code) and not (recovery and authenticator.use_recovery_code(code)):
        return False
    forget_attempts(subject)
    return True


def _complete(request: HttpRequest, authenticator: Authenticator) -> None:
    """Mark the session, under a new key: the old one, which others may know, has no second factor."""
    django_otp.login(request, authenticator)
    request.session.cycle_key()


def _next(request: HttpRequest) -> str:
    """Where the person wanted to go, on this site."""
    wanted = request.POST.get("next", request.GET.get("next", ""))
    if url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure()):
        return wanted
    return reverse("ask_bridge:inbox")


def _site_name() -> str:
    """What the app shows beside the code, so that two sites can be told apart."""
    return f"Ask Bridge {urlsplit(settings.ORIGIN).hostname}"


def qr_code(text: str) -> str:
    """The text as a QR code in SVG, without inline styles, which the Content Security Policy forbids."""
    code = segno.make(text, error="m", micro=False)
    title = gettext("QR code for the authenticator app")
    svg = code.svg_inline(border=4, omitsize=True, svgclass="ab-qr", lineclass=None, title=title)
    return mark_safe(svg)  # noqa: S308 (made by segno: numbers and our own title)
