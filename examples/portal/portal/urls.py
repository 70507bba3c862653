from board.views import board
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LoginView, LogoutView
from django.urls import include, path

urlpatterns = [
    path("", board, name="home"),
    path("anmelden/", LoginView.as_view(), name="login"),
    path("abmelden/", LogoutView.as_view(), name="logout"),
    path("verwaltung/", admin.site.urls),
    path("werkzeuge/fragen/", include("rooms.urls")),  # Ask Bridge
]
if settings.OIDC_ISSUER:
    urlpatterns += [path("konto/", include("allauth.urls"))]
