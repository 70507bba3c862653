from typing import Any

from channels.generic.websocket import WebsocketConsumer
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application
from django.urls import path

django_application = get_asgi_application()

from rooms.live import with_live  # noqa: E402 -- Django has to be set up first


class Echo(WebsocketConsumer):
    def receive(self, text_data: str | None = None, bytes_data: Any = None) -> None:
        self.send(text_data=text_data)


application = with_live(
    ProtocolTypeRouter({"http": django_application, "websocket": URLRouter([path("echo", Echo.as_asgi())])})
)
