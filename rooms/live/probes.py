"""Probes of monitoring, answered before the host's application: they send neither its name nor a login."""

import asyncio

from channels.layers import get_channel_layer

from rooms.db import outages, readiness
from rooms.db.pool import in_database
from rooms.live.consumer import LiveConsumer

# A database or channel layer that takes longer counts as unreachable.
READY_SECONDS = 3


class Health(LiveConsumer):
    """The process is up."""

    async def open(self) -> None:
        await self.respond_json({"status": "ok"})


class Readiness(LiveConsumer):
    """Database and channel layer are reachable, the database takes writes and has no newer schema."""

    async def open(self) -> None:
        database, layer = await asyncio.gather(_database_state(), _layer_state())
        states = {"database": database, "channel_layer": layer} | readiness.version_state()
        is_ready = all(state == "ok" for state in states.values())
        await self.respond_json(states, 200 if is_ready else 503)


async def _database_state() -> str:
    try:
        async with asyncio.timeout(READY_SECONDS):
            return await in_database(readiness.database_state)
    except TimeoutError:
        outages.database.failed("it does not reply")
        return "unreachable"


async def _layer_state() -> str:
    try:
        await probe_layer(READY_SECONDS)
    except Exception as problem:
        outages.channel_layer.failed(repr(problem))
        return "unreachable"
    outages.channel_layer.succeeded()
    return "ok"


async def probe_layer(seconds: float) -> None:
    """Send a message to a group without members; raises what the channel layer raises."""
    layer = get_channel_layer()
    async with asyncio.timeout(seconds):
        if layer is not None:
            await layer.group_send("ask_bridge.ready", {"type": "ready"})
