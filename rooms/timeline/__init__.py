"""The timeline of a room: questions, answers, endings and messages in the order of their commits.

`entries` reads it for pages and agents, `change_feed` for background readers, each from its bookmark.
"""

from rooms.timeline.entries import (
    REPLAY_LIMIT,
    Changes,
    Entry,
    UnknownEntry,
    changes_after,
    corrections_of,
    entries_after,
    in_groups,
    last_entry,
    page_before,
    position_of,
    results_for,
)

__all__ = [
    "REPLAY_LIMIT",
    "Changes",
    "Entry",
    "UnknownEntry",
    "changes_after",
    "corrections_of",
    "entries_after",
    "in_groups",
    "last_entry",
    "page_before",
    "position_of",
    "results_for",
]
