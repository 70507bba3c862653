"""Download of one's own data, from the Settings page."""

import json

from django.contrib.auth.models import AbstractBaseUser
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse

from rooms.access import rate_limits
from rooms.privacy.own_data import Encoder, data_of
from rooms.web import form

# It reads many rows; a person needs it once in a while.
SECONDS_BETWEEN = 60


@form
def own_data(request: HttpRequest) -> HttpResponse:
    if not cache.add(f"ask_bridge.own_data.{request.user.pk}", True, SECONDS_BETWEEN):
        raise rate_limits.TooMany(1, "exports", SECONDS_BETWEEN)
    assert isinstance(request.user, AbstractBaseUser)  # noqa: S101 - `form` lets only signed-in people in
    text = json.dumps(data_of(request.user), cls=Encoder, ensure_ascii=False, indent=2)
    response = HttpResponse(text, content_type="application/json")
    response["Content-Disposition"] = 'attachment; filename="ask-bridge-my-data.json"'
    return response
