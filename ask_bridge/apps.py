"""The app config of `rooms`, under the name of the product."""

from rooms.apps import RoomsConfig

__all__ = ["RoomsConfig"]
