"""The Django admin: rooms, members and keys to edit; all else to read.

Pages that show what happened are read-only. State changes only through the verbs of `lifecycle` and `access`.
Each module registers its own models.
"""

from rooms.admin import audit, keys, members, messages, notifications, questions, rooms

__all__ = ["audit", "keys", "members", "messages", "notifications", "questions", "rooms"]
