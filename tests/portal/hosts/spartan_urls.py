from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def page(request: HttpRequest, anything: str = "") -> HttpResponse:
    return HttpResponse("The portal's own page")


urlpatterns = [
    path("entrance/", LoginView.as_view(template_name="entrance.html")),
    path("ask/", include("rooms.urls")),
    path("", page),
    path("<path:anything>", page),
]
