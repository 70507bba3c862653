"""JSON replies of the API. Each ends with a line break, so the prompt after `curl` is on its own line."""

import json
from typing import Any

from django.http import HttpResponse

CONTENT_TYPE = "application/json"


def encode_json(body: Any) -> bytes:
    """The body of a reply."""
    return f"{json.dumps(body)}\n".encode()


class JsonReply(HttpResponse):
    """Django's JsonResponse, with a line break at its end."""

    def __init__(self, body: Any, status: int = 200) -> None:
        super().__init__(encode_json(body), status=status, content_type=CONTENT_TYPE)
