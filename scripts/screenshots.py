"""Make the pictures of README and docs from a real site with a real browser: `make screenshots`."""

import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, sync_playwright  # noqa: E402

from tests.harness.agents import Agent  # noqa: E402
from tests.harness.bridges import Bridge, running_bridge  # noqa: E402

ROOMS = ["ops", "checkout-team", "data-platform", "docs"]
IMAGES = ROOT / "docs" / "images"

SESSIONS = {
    "agent": {"name": "refactor-bot", "color": "#6a7ff5"},
    "context": {
        "text": "The current store keeps sessions in memory, so a deploy signs everybody out. "
        "I can move them to a table or to a key-value store; both are half a day of work.",
        "cwd": "/srv/shop",
        "branch": "main",
    },
    "questions": [
        {
            "question": "Which database should we use for the session store?",
            "header": "Database",
            "options": [
                {
                    "label": "PostgreSQL (Recommended)",
                    "description": "The one you already run; one migration",
                    "preview": "CREATE TABLE session (\n  key     text PRIMARY KEY,\n  expires date\n);",
                },
                {"label": "Redis", "description": "Fast, but a second thing to back up"},
                {"label": "SQLite", "description": "Only with a single web process"},
            ],
        }
    ],
}
RELEASE = {
    "agent": {"name": "release-agent", "color": "orange"},
    "questions": [
        {
            "question": "Which checks should block the release?",
            "header": "Checks",
            "multiSelect": True,
            "options": [{"label": "Unit tests"}, {"label": "Browser tests", "description": "Four minutes"}],
        }
    ],
}
LAYOUT = {
    "agent": {"name": "refactor-bot", "color": "#6a7ff5"},
    "questions": [
        {
            "question": "Which layout do you prefer?",
            "header": "Layout",
            "options": ["Two columns", "One column"],
        }
    ],
}


def populate(agent: Agent, bridge: Bridge, stack: ExitStack) -> None:
    """A room in the middle of a working day."""
    ben = bridge.person("ben")
    layout = agent.ask(**LAYOUT)
    ben.answer(layout, "Two columns")
    agent.wait(layout["id"], seconds=1)
    agent.send("read 14 files, ran the tests (212 passed)", sender="refactor-bot", type="log")
    ben.say("I am in a meeting until three, Ana decides.", room=agent.room)
    sessions = agent.ask(**SESSIONS)
    release = agent.ask(**RELEASE)
    stack.enter_context(agent.waiting(sessions["id"]))
    agent.wait(release["id"], seconds=0.1)
    agent.call("DELETE", f"/api/v1/questions/{release['id']}/wait")
    stack.enter_context(ben.stream(None))


def take(browser: Browser, bridge: Bridge, path: str, name: str, **options: Any) -> None:
    address = f"http://127.0.0.1:{bridge.site.port}"
    context = browser.new_context(base_url=address, device_scale_factor=1.5, **options)
    cookies = bridge.person("ana", bridge.site).cookies
    context.add_cookies([{"name": key, "value": value, "url": address} for key, value in cookies.items()])
    page = context.new_page()
    page.goto(path)
    page.get_by_text("Agent waiting").first.wait_for()
    page.get_by_role("listitem").filter(has_text="Ben Okafor").wait_for()
    page.screenshot(path=IMAGES / f"{name}.png")
    context.close()
    print(f"docs/images/{name}.png")


def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        data = stack.enter_context(tempfile.TemporaryDirectory())
        bridge = stack.enter_context(running_bridge("embedded", Path(data) / "data", ROOMS))
        agent = bridge.agent()
        populate(agent, bridge, stack)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        stack.callback(browser.close)
        room = f"/rooms/{agent.room}"
        desk, phone = {"width": 1280, "height": 1000}, {"width": 390, "height": 844}
        take(browser, bridge, room, "room", viewport=desk)
        take(browser, bridge, room, "room-dark", viewport=desk, color_scheme="dark")
        take(browser, bridge, room, "room-phone", viewport=phone)


if __name__ == "__main__":
    main()
