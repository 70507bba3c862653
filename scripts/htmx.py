"""Make rooms/static/ask_bridge/js/htmx.js from the files of django-htmx, after an upgrade of that."""

import re
from pathlib import Path

import django_htmx

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = Path(django_htmx.__file__).parent / "static" / "django_htmx"
SCRIPT = ROOT / "rooms" / "static" / "ask_bridge" / "js" / "htmx.js"

# Where two libraries would keep what they know of elements and pages: one deletes what the other needs.
SHARED_NAMES = ("htmx-internal-data", "htmx-history-cache", "htmx-current-path-for-history")

WRAPPER = """\
// htmx %(version)s and its SSE extension as a library of our own, which start.js starts: a portal may have
// htmx in any version, and neither sees the other. Made by scripts/htmx.py from the files of django-htmx.
// Without it a page works only by forms and reloads.

self.askBridgeHtmx = (() => {
  // Its events have names of their own, but for two that it listens to itself: listeners of the portal, and
  // ours, hear only the library that they are for.
  class CustomEvent extends self.CustomEvent {
    constructor(name, options) {
      super(name.replace(/^htmx:(?!(abort|afterProcessNode)$)/, "ab-htmx:"), options);
    }
  }
  // It would process the whole page by itself as soon as that is there.
  let start;
  document.addEventListener = (_, listener) => { start = listener; };
  // https://htmx.org, Zero-Clause BSD
  %(library)s
  delete document.addEventListener;
  // https://github.com/bigskysoftware/htmx-extensions, Zero-Clause BSD
  %(extension)s
  return Object.assign(htmx, { start });
})();
"""


def content() -> str:
    """What the file has to be with the installed django-htmx."""
    library = (LIBRARY / "htmx-2.min.js").read_text().strip()
    extension = (LIBRARY / "ext" / "hx-sse-2.min.js").read_text().strip()
    [version] = re.findall(r'version:"([\d.]+)"', library)
    for name in SHARED_NAMES:
        before, library = library, library.replace(f'"{name}"', f'"ask-bridge-{name}"')
        if library == before:
            raise SystemExit(f"This htmx has no {name}: look where it keeps that now.")
    return WRAPPER % {"version": version, "library": library, "extension": extension}


if __name__ == "__main__":
    SCRIPT.write_text(content())
    print(SCRIPT.relative_to(ROOT))
