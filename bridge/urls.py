"""URLs of the site: login, password and admin pages, and those of `rooms`."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

from bridge.password_change import PasswordChange, password_changed

urlpatterns = [
    path("admin/", admin.site.urls),
    path("login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("password/", PasswordChange.as_view(), name="password_change"),
    path("password/done/", password_changed, name="password_change_done"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("", include("rooms.urls")),
]

handler400 = "bridge.errors.bad_request"
handler500 = "bridge.errors.server_error"
