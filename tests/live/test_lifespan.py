"""Servers that announce their start and stop: `with_live` takes part, and passes both on."""

import asyncio
from typing import Any

import pytest

from rooms.live import routing
from rooms.live.background import background
from rooms.live.routing import Receive, Scope, Send


class Server:
    """What an ASGI server says around its requests, and what it hears."""

    def __init__(self) -> None:
        self.says = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
        self.hears: list[str] = []

    async def receive(self) -> Any:
        return self.says.pop(0)

    async def send(self, message: Any) -> None:
        self.hears.append(message["type"])


@pytest.fixture
def happened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """When our own part began and ended; the hub itself would stay closed for all other tests."""
    order: list[str] = []

    def start() -> bool:
        order.append("start")
        return False

    async def stop() -> None:
        order.append("stop")

    monkeypatch.setattr(background, "start", start)
    monkeypatch.setattr(background, "stop", stop)
    return order


def serve(application: Any) -> list[str]:
    server = Server()
    asyncio.run(routing.with_live(application)({"type": "lifespan"}, server.receive, server.send))
    return server.hears


BOTH = ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_an_application_that_knows_no_lifespan_still_starts(happened: list[str]) -> None:
    async def django(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("Django can only handle ASGI/HTTP connections, not lifespan.")

    assert serve(django) == BOTH
    assert happened == ["start", "stop"]


def test_an_application_with_a_lifespan_of_its_own_keeps_it(happened: list[str]) -> None:
    async def portal(scope: Scope, receive: Receive, send: Send) -> None:
        for step in ("startup", "shutdown"):
            assert (await receive())["type"] == f"lifespan.{step}"
            happened.append(f"portal {step}")
            await send({"type": f"lifespan.{step}.complete"})

    assert serve(portal) == BOTH
    assert happened == ["start", "portal startup", "stop", "portal shutdown"]


def test_an_application_that_fails_later_is_not_covered_up(happened: list[str]) -> None:
    async def portal(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        raise RuntimeError("a task died")

    with pytest.raises(RuntimeError):
        serve(portal)
