"""Page streams without a server: what each is sent is kept, and a client can stop reading."""

import asyncio
from typing import Any

from rooms.access.locks import Standing
from rooms.live.streams import PageStream, StreamGrant
from rooms.models import Room


class Page:
    """A client, and the server in between: what it was sent, and whether it reads."""

    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.is_gone = False

    async def send(self, message: dict[str, Any]) -> None:
        if self.is_gone:
            raise OSError("the client is gone")
        await self.reads.wait()
        self.sent.append(message.get("body", b""))

    async def until_sent(self, text: bytes) -> None:
        async with asyncio.timeout(10):
            while text not in b"".join(self.sent):
                await asyncio.sleep(0.001)


def grant_of(user_id: Any, rooms: list[Room], cursors: dict[str, str] | None = None) -> StreamGrant:
    standing = Standing("", frozenset(), frozenset(), frozenset())
    return StreamGrant(user_id, None, rooms, standing, "en", True, cursors or {})


def stream_to(page: Page, grant: StreamGrant) -> PageStream:
    """A stream that is open, and that no hub knows yet."""
    stream = PageStream(application=None)
    stream.base_send = page.send
    stream.show(grant)
    return stream
