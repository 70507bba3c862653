"""Pictures of every page and state, from a real site with a real browser: `make screenshots`.

All of them go into build/screenshots, with index.html and one sheet per look to compare them at a glance.
Those that README shows go into docs/images. With names of states (`scripts/screenshots.py inbox connect-key`)
only these are made.
A state is a function in screenshot_states.py.
"""

import html
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]

from playwright.sync_api import Browser, Error, Page, sync_playwright  # noqa: E402
from screenshot_states import DOCUMENT_ROOM, STATES, Look, Stage, State  # noqa: E402

from tests.harness.bridges import running_bridge  # noqa: E402

IMAGES = ROOT / "docs" / "images"
BUILD = ROOT / "build" / "screenshots"
HEIGHT = 900
# On a sheet only the top of a long page is shown; the picture itself has all of it.
SHEET_CSS = """
body { font: 14px system-ui, sans-serif; margin: 24px; background: #ddd; }
section { display: grid; grid-template-columns: repeat(5, 1fr); gap: 20px; padding: 8px; }
h2 { grid-column: 1 / -1; margin: 16px 0 0; }
figure { margin: 0; }
figure a { display: block; max-height: 480px; overflow: hidden; border: 1px solid #999; }
img { display: block; width: 100%; }
"""


def take(page: Page, state: State, look: Look) -> None:
    page.emulate_media(color_scheme=look.scheme)
    page.set_viewport_size({"width": look.width, "height": HEIGHT})
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=BUILD / f"{state.name}-{look.name}.png", full_page=True, animations="disabled")


def take_state(stage: Stage, state: State) -> bool:
    """All looks of one state; False if the state could not be made."""
    try:
        with stage.opened(state) as page:
            for look in state.looks:
                take(page, state, look)
    except (Error, AssertionError) as problem:
        print(f"{state.name}: {problem}", file=sys.stderr)
        return False
    print(f"build/screenshots/{state.name}-*.png ({len(state.looks)})")
    return True


def take_for_documents(stage: Stage) -> None:
    """The pictures of README: a room in the middle of a working day, as high as a screen."""
    looks = {"room": Look("light", 1280), "room-dark": Look("dark", 1280), "room-phone": Look("light", 390)}
    for name, look in looks.items():
        page = stage.open(
            f"/rooms/{DOCUMENT_ROOM}",
            device_scale_factor=1.5,
            viewport={"width": look.width, "height": 844 if look.is_phone else 1000},
            color_scheme=look.scheme,
        )
        page.get_by_role("listitem").filter(has_text="Ben Okafor").wait_for()
        page.screenshot(path=IMAGES / f"{name}.png")
        page.context.close()
        print(f"docs/images/{name}.png")


def figure(name: str) -> str:
    picture = f'<a href="{name}"><img src="{name}" alt=""></a>'
    return f"<figure>{picture}<figcaption>{html.escape(name)}</figcaption></figure>"


def make_sheets(browser: Browser) -> None:
    """One HTML page with all pictures by look, and each look as one picture."""
    looks = list(dict.fromkeys(look for state in STATES.values() for look in state.looks))
    sections = []
    for look in sorted(looks, key=lambda look: (look.width, look.scheme)):
        names = [f"{state.name}-{look.name}.png" for state in STATES.values() if look in state.looks]
        figures = "".join(figure(name) for name in names if (BUILD / name).exists())
        heading = f"<h2>{look.scheme}, {look.width} px</h2>"
        sections.append(f'<section id="{look.name}">{heading}{figures}</section>')
    sheet = BUILD / "index.html"
    head = f"<!doctype html><meta charset=utf-8><title>Ask Bridge</title><style>{SHEET_CSS}</style>"
    sheet.write_text(head + "".join(sections))
    page = browser.new_page(viewport={"width": 1640, "height": HEIGHT})
    page.goto(sheet.as_uri())
    for section in page.locator("section").all():
        section.screenshot(path=BUILD / f"sheet-{section.get_attribute('id')}.png")
    print("build/screenshots/index.html, build/screenshots/sheet-*.png")


def main(names: list[str]) -> int:
    unknown = sorted(set(names) - set(STATES))
    if unknown:
        print(f"No such state: {', '.join(unknown)}. There are: {', '.join(STATES)}.", file=sys.stderr)
        return 2
    chosen = [state for name, state in STATES.items() if not names or name in names]
    for folder in (IMAGES, BUILD):
        folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory())
        bridge = stack.enter_context(running_bridge("embedded", Path(data) / "data", Stage.ROOMS))
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        stack.callback(browser.close)
        stage = Stage(bridge, browser, stack)
        failed = [state.name for state in chosen if state.is_quiet and not take_state(stage, state)]
        stage.play_working_day()
        if not names:
            take_for_documents(stage)
        stage.play_all_states()
        failed += [state.name for state in chosen if not (state.is_quiet or take_state(stage, state))]
        make_sheets(browser)
    if failed:
        print(f"Not made: {', '.join(failed)}.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
