"""URLs of the site: login, password and admin pages, and those of `rooms`."""

from django.conf import settings
from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import URLPattern, include, path
from django.utils.translation import gettext_lazy as _

from bridge import own_sessions, password_reset, second_factor, single_sign_on
from bridge.password_change import PasswordChange, password_changed
from bridge.sign_in import SignIn, admin_login
from bridge.signin_link import welcome

# Here and not in `rooms`: the admin of a portal keeps the portal's names.
admin.site.site_header = admin.site.site_title = "Ask Bridge"
admin.site.index_title = _("Administration")

# Pages that a site has only if it is configured so. Without them their addresses do not exist, and other
# pages, which look for the names, have no link to them.
PASSWORD_RESET: list[URLPattern] = [
    path("password/reset/", password_reset.PasswordReset.as_view(), name="password_reset"),
    path(
        "password/reset/sent/",
        auth.PasswordResetDoneView.as_view(template_name="password_reset_sent.html"),
        name="password_reset_done",
    ),
    path(
        "password/reset/<uidb64>/<token>/",
        password_reset.NewPassword.as_view(),
        name="password_reset_confirm",
    ),
    path(
        "password/reset/done/",
        auth.PasswordResetCompleteView.as_view(template_name="password_reset_complete.html"),
        name="password_reset_complete",
    ),
]
SINGLE_SIGN_ON: list[URLPattern] = [
    path("sso/", single_sign_on.single_sign_on, name="single_sign_on"),
    path("sso/callback/", single_sign_on.callback, name="single_sign_on_callback"),
    path("admin/login/", admin_login, name="admin_login"),  # before the admin's own
]
TWO_FACTOR: list[URLPattern] = [
    path("second-factor/", second_factor.second_factor, name="second_factor"),
    path("second-factor/setup/", second_factor.setup, name="second_factor_setup"),
]
SESSION_LIST: list[URLPattern] = [path("sessions/", own_sessions.own_sessions, name="own_sessions")]

urlpatterns = [
    # First, because agents and pages call these most; none of them is below the paths that follow.
    path("", include("rooms.urls")),
    *(PASSWORD_RESET if settings.PASSWORD_RESET else []),
    *(SINGLE_SIGN_ON if settings.OIDC_ISSUER else []),
    *(TWO_FACTOR if settings.TWO_FACTOR != "off" else []),
    *(SESSION_LIST if settings.SESSION_LIST else []),
    path("admin/", admin.site.urls),
    path("login/", SignIn.as_view(), name="login"),
    path("welcome/<str:token>/", welcome, name="welcome"),
    path("password/", PasswordChange.as_view(), name="password_change"),
    path("password/done/", password_changed, name="password_change_done"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
]

handler400 = "bridge.errors.bad_request"
handler500 = "bridge.errors.server_error"
