"""Client of Ask Bridge for agents: standard library only, Python 3.9 and newer.

`Client(url, key, room).ask_and_wait(questions, wait_seconds=300)` returns `Answered`, `Declined` (or its
subclass `AskedBack`), `Expired`, `Withdrawn` or `StillOpen`. For the command line see `ask-bridge --help`.
"""

from bridge_client.client import Client
from bridge_client.errors import ClientError, ProblemError, SettingsError, Unreachable
from bridge_client.results import (
    Answered,
    AskedBack,
    Choice,
    Declined,
    Expired,
    Memory,
    Person,
    Question,
    Result,
    StillOpen,
    Vote,
    Withdrawn,
)
from bridge_client.transport.cancellation import Cancellation, Cancelled
from bridge_client.version import __version__

__all__ = [
    "Answered",
    "AskedBack",
    "Cancellation",
    "Cancelled",
    "Choice",
    "Client",
    "ClientError",
    "Declined",
    "Expired",
    "Memory",
    "Person",
    "ProblemError",
    "Question",
    "Result",
    "SettingsError",
    "StillOpen",
    "Unreachable",
    "Vote",
    "Withdrawn",
    "__version__",
]
