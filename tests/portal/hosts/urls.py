from django.conf import settings
from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def home(request: HttpRequest) -> HttpResponse:
    return HttpResponse("The portal's own page")


urlpatterns = [
    path("", home),
    path("admin/", admin.site.urls),
    path("entrance/", LoginView.as_view(template_name="entrance.html")),
    path(settings.PREFIX, include("rooms.urls")),
]
