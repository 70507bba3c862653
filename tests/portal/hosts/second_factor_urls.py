from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseForbidden
from django.urls import path
from django_otp import login, match_token

from tests.portal.hosts.urls import urlpatterns


@login_required
def second_factor(request: HttpRequest) -> HttpResponse:
    device = match_token(request.user, request.POST["token"])
    if device is None:
        return HttpResponseForbidden("Wrong token")
    login(request, device)
    return HttpResponse("Verified")


urlpatterns = [*urlpatterns, path("second-factor/", second_factor)]
