"""Message catalogues, and the texts of an HTML page."""

from gettext import GNUTranslations
from html.parser import HTMLParser
from pathlib import Path

from tests.harness.sites import ROOT

CATALOGUES = [ROOT / "rooms/locale/de/LC_MESSAGES/django.po", ROOT / "locale/de/LC_MESSAGES/django.po"]

# Names, keys and examples of an address and an agent key; text in <code> is not translated either.
SAME_EVERYWHERE = {
    "Ask Bridge",
    "Claude Code",
    "Agent SDK",
    "MCP",
    "CLI",
    "curl",
    "CSV",
    "JSON",
    *"jksanghizl",
} | {"https://hooks.example.org/…", "abk_…"}
SILENT_TAGS = ("code", "pre", "script", "style", "time")
SAID_BY_ATTRIBUTES = {"title", "placeholder", "alt", "aria-label"} | {
    f"data-{name}" for name in ("one", "many", "copied", "default", "denied", "failed", "unsupported")
}


def compiled(path: Path) -> dict[str | tuple[str, int], str]:
    """The texts of a catalogue by their originals, as its .mo file has them."""
    with path.with_suffix(".mo").open("rb") as file:
        return GNUTranslations(file)._catalog  # type: ignore[attr-defined, no-any-return]


class Texts(HTMLParser):
    """The texts of a page and of its readable attributes, without code and times."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._silent = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self._silent += tag in SILENT_TAGS
        if not self._silent:
            self.found += [value or "" for name, value in attributes if name in SAID_BY_ATTRIBUTES]

    def handle_endtag(self, tag: str) -> None:
        self._silent -= tag in SILENT_TAGS

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.found.append(data)
