"""The way back from the page of a question: to the inbox with its filters, to the search, or to the room.

Only parameters come from the request: the address is made from those that the page itself knows. So a link
cannot lead anywhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from rooms.history import views as history_views
from rooms.models import Question
from rooms.pages.inbox import Filters

# The parameters of a question's page that have the query of the page to go back to.
SEARCH, INBOX = "search", "inbox"
# Longer than all filters together; a longer one was not made by a page of ours.
LONGEST_QUERY = 4_000


@dataclass(frozen=True)
class WayBack:
    address: str
    label: str


def way_back(request: HttpRequest, question: Question) -> WayBack | None:
    """Where this person came from; None for the room, which every question's page links to."""
    came_from = _named(request.GET) or _referring(request)
    if came_from is None:
        return None
    name, query = came_from
    if name == SEARCH:
        return WayBack(history_views.search_address(query, question.pk), gettext("Back to the search"))
    filters = Filters.read(_parameters(query))
    return WayBack(filters.address(), gettext("Back to the inbox"))


def with_way_back(request: HttpRequest, address: str) -> str:
    """The address of a question's page that leads back to where this form was sent from."""
    path, query = _referring_page(request)
    came_from = _named(_parameters(query)) if path == address else _referring(request)
    return f"{address}?{urlencode([came_from])}" if came_from else address


def _named(parameters: Mapping[str, str]) -> tuple[str, str] | None:
    name = next((name for name in (SEARCH, INBOX) if name in parameters), None)
    return (name, parameters[name]) if name else None


def _referring(request: HttpRequest) -> tuple[str, str] | None:
    """The inbox or the search that linked here, with its query."""
    path, query = _referring_page(request)
    name = {reverse("ask_bridge:inbox"): INBOX, reverse("ask_bridge:history"): SEARCH}.get(path)
    return (name, query) if name else None


def _referring_page(request: HttpRequest) -> tuple[str, str]:
    """Path and query of the page of this site that linked here; empty if there is none."""
    try:
        referring = urlsplit(request.headers.get("Referer", ""))
    except ValueError:
        return "", ""
    return (referring.path, referring.query) if referring.netloc == request.get_host() else ("", "")


def _parameters(query: str) -> dict[str, str]:
    return dict(parse_qsl(query[:LONGEST_QUERY], keep_blank_values=True))
