"""The Django admin: rooms, members and keys can be edited; history is read-only.

State changes only through the functions of `lifecycle` and `access`. Each module registers its own models.
"""

from rooms.admin import audit, keys, members, messages, notifications, questions, rooms

__all__ = ["audit", "keys", "members", "messages", "notifications", "questions", "rooms"]
