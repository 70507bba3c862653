"""URLs of the site: login, password and admin pages, and those of `rooms`."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from bridge.password_change import PasswordChange, password_changed

urlpatterns = [
    # First, because agents and pages call these most; none of them is below the paths that follow.
    path("", include("rooms.urls")),
    path("admin/", admin.site.urls),
    path("login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("password/", PasswordChange.as_view(), name="password_change"),
    path("password/done/", password_changed, name="password_change_done"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
]

handler400 = "bridge.errors.bad_request"
handler500 = "bridge.errors.server_error"
