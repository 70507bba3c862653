"""The site's addresses: signing in and the admin around what `rooms` brings."""

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("login/", auth.LoginView.as_view(redirect_authenticated_user=True), name="login"),
    path("logout/", auth.LogoutView.as_view(), name="logout"),
    path("", include("rooms.urls")),
]

handler400 = "bridge.errors.bad_request"
handler500 = "bridge.errors.server_error"
