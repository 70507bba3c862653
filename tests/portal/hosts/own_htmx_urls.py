from itertools import count

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path

from tests.portal.hosts import urls

clicks = count(1)


def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


def click(request: HttpRequest) -> HttpResponse:
    """How many requests came, which a second library would double."""
    return HttpResponse(next(clicks))


urlpatterns = [path("home", home), path("click", click), *urls.urlpatterns]
