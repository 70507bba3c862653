"""Views for changing one's own password."""

from typing import Any

from django.contrib.auth import views as auth
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from bridge.login import count_guess, reset_guesses


class PasswordChange(auth.PasswordChangeView):
    """Django's view, which ends all other sessions. Guesses of the current password count as at the login."""

    http_method_names = ["get", "head", "options", "post"]
    # Django's default template name would also replace the admin's page.
    template_name = "password_change.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user: Any = request.user  # signed in: Django's view asks for that first
        if not user.has_usable_password():  # single sign-on
            return render(request, "password_none.html")
        return super().get(request, *args, **kwargs)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        count_guess(request, self.request.user.get_username())
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: PasswordChangeForm) -> HttpResponse:
        reset_guesses(self.request, form.user)
        return super().form_valid(form)

    def form_invalid(self, form: PasswordChangeForm) -> HttpResponse:
        if "old_password" not in form.errors:  # the current password was right, only the new one is refused
            reset_guesses(self.request, form.user)
        return super().form_invalid(form)


@require_safe
@never_cache
@login_required
def password_changed(request: HttpRequest) -> HttpResponse:
    """Confirm the change."""
    return render(request, "password_changed.html")
