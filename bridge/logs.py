"""Log format: JSON lines and the request id."""

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # logging is configured before `rooms` can be imported
    from rooms.live.routing import Application, Receive, Scope, Send

# The proxy's id of the request, which connects the proxy's log with this one.
REQUEST_ID_HEADER = b"x-request-id"
# nginx sends 32 hexadecimal digits, others a UUID. Other values are ignored: they could forge log lines.
REQUEST_ID = re.compile(rb"[\w-]{1,64}")

_request_id: ContextVar[str] = ContextVar("bridge_request_id", default="")


def with_request_id(application: "Application") -> "Application":
    """Wrap an ASGI application so that its log lines have the proxy's request id."""

    async def application_with_request_id(scope: "Scope", receive: "Receive", send: "Send") -> None:
        for name, value in scope.get("headers", ()):
            if name == REQUEST_ID_HEADER and REQUEST_ID.fullmatch(value):
                _request_id.set(value.decode())
        await application(scope, receive, send)

    return application_with_request_id


class RequestId(logging.Filter):
    """Adds the request id to every record, plain and as the suffix of a line."""

    def filter(self, record: logging.LogRecord) -> bool:
        request_id = _request_id.get()
        record.request_id = request_id
        record.request_suffix = f" [request {request_id}]" if request_id else ""
        return True


class JsonLine(logging.Formatter):
    """One JSON object on one line, for programs that collect logs."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id := getattr(record, "request_id", ""):
            line["request_id"] = request_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
