"""The login page, with a link to the single sign-on if there is one, and the way from the admin to it."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache


class SignIn(auth.LoginView):
    """Django's view. Each way that the site has is a part of the page."""

    redirect_authenticated_user = True

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        return super().get_context_data(**context, single_sign_on_name=settings.OIDC_NAME)


@never_cache
def admin_login(request: HttpRequest) -> HttpResponse:
    """The page of the site instead of the admin's own, which knows only passwords."""
    if request.user.is_authenticated or request.method != "GET":
        return admin.site.login(request)  # says that this person is no admin
    wanted = request.GET.get("next") or reverse("admin:index")
    return redirect(f"{reverse('login')}?{urlencode({'next': wanted}, safe='/')}")
