"""The same addresses as ours; streams are where django-eventstream has them."""

import django_eventstream
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.urls import include, path

from bench.anchors.eventstream import views


class Login(LoginView):
    def get(self, request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        """No page: only the token that the form would hold."""
        return HttpResponse(get_token(request))


urlpatterns = [
    path("login/", Login.as_view(), name="login"),
    path("api/v1/rooms/<slug:room>/questions", views.ask),
    path("api/v1/questions/<int:question_id>/events", views.question_events),
    path(
        "rooms/<slug:room>/events",
        include(django_eventstream.urls),
        {"format-channels": ["room-{room}"]},
    ),
    path("rooms/<slug:room>/questions/<int:question_id>/answer", views.answer),
]
