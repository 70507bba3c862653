"""Web push in a browser: the notification that the service worker shows, and where a click on it leads."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, CDPSession, Page, Worker, expect

from tests.harness.agents import Agent
from tests.harness.bridges import Bridge
from tests.harness.pages import SHOWN_NOTIFICATIONS
from tests.harness.timing import eventually

pytestmark = pytest.mark.whole_browser

OpenBrowser = Callable[..., BrowserContext]


# A worker that is still being activated gets no push from the developer tools.
WORKER_ACTIVATED = """() => navigator.serviceWorker.ready.then(async ({ active }) => {
  while (active.state !== "activated") {
    await new Promise((resolve) => active.addEventListener("statechange", resolve, { once: true }));
  }
})"""


class Device:
    """A browser with the service worker; pushes come by its developer tools, without a push service."""

    def __init__(self, context: BrowserContext, page: Page) -> None:
        self.context, self.page = context, page
        self.tools: CDPSession = context.new_cdp_session(page)
        self.registrations: list[dict[str, Any]] = []
        self.tools.on(
            "ServiceWorker.workerRegistrationUpdated",
            lambda told: self.registrations.extend(told["registrations"]),
        )
        self.tools.send("ServiceWorker.enable")

    def push(self, **message: Any) -> None:
        ours = eventually(self._registrations)
        origin = self.page.evaluate("location.origin")
        push = {"origin": origin, "registrationId": ours[0]["registrationId"], "data": json.dumps(message)}
        self.tools.send("ServiceWorker.deliverPushMessage", push)

    def _registrations(self) -> list[dict[str, Any]]:
        # Whatever one asks the page: what the tools tell is heard only meanwhile.
        origin = self.page.evaluate("location.origin")
        return [one for one in self.registrations if one["scopeURL"].startswith(origin)]

    def shown(self) -> list[dict[str, Any]]:
        return self.page.evaluate(SHOWN_NOTIFICATIONS)


@pytest.fixture
def device(open_browser: OpenBrowser) -> Device:
    context = open_browser("eli", permissions=["notifications"])
    page = context.new_page()
    page.goto("/settings")
    page.evaluate("navigator.serviceWorker.register(document.getElementById('ab-layout').dataset.worker)")
    page.evaluate(WORKER_ACTIVATED)
    return Device(context, page)


def message(question: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "title": "Database · Operations",
        "body": "Which database?",
        "tag": f"card-{question['id']}",
        "url": f"/rooms/{question['room']}/questions/{question['id']}",
        "settled": False,
        "renotify": False,
        "icon": "/static/ask_bridge/icon-192.png",
        **fields,
    }


def test_a_push_is_shown_and_what_follows_takes_its_place(agent: Agent, device: Device) -> None:
    question = agent.ask()
    device.push(**message(question))
    [shown] = eventually(device.shown)
    assert (shown["title"], shown["body"]) == ("Database · Operations", "Which database?")
    assert shown["data"]["url"] == f"/rooms/{agent.room}/questions/{question['id']}"
    # The same once more, as after a killed process: still one.
    device.push(**message(question))
    device.push(**message(question, body="Answered by Ana Costa", settled=True))
    eventually(lambda: [one["body"] for one in device.shown()] == ["Answered by Ana Costa"])
    eventually(lambda: device.shown() == [])


CLICK = """(tag) => registration.getNotifications({ tag }).then(([notification]) =>
    dispatchEvent(new NotificationEvent("notificationclick", { notification })))"""


def test_a_click_leads_an_open_tab_to_the_card(agent: Agent, device: Device) -> None:
    question = agent.ask()
    device.push(**message(question))
    eventually(device.shown)
    # Only a hand may focus a window: the worker's own focus() is refused to a test.
    worker(device).evaluate("WindowClient.prototype.focus = function () { return Promise.resolve(this); }")
    worker(device).evaluate(CLICK, f"card-{question['id']}")
    device.page.wait_for_url(f"**/rooms/{agent.room}/questions/{question['id']}")
    expect(device.page.locator(f"#card-{question['id']}")).to_be_visible()


# ---- buttons of a notification ---------------------------------------------------------------------------

PRESS = """([tag, action]) => registration.getNotifications({ tag }).then(([notification]) =>
    dispatchEvent(new NotificationEvent("notificationclick", { notification, action })))"""


def with_buttons(question: dict[str, Any]) -> dict[str, Any]:
    """What the server sends for a plain question."""
    labels = ["PostgreSQL", "SQLite", "Neither"]
    return message(
        question,
        actions=[{"action": str(index), "title": label} for index, label in enumerate(labels)],
        answer=f"/rooms/{question['room']}/questions/{question['id']}/push",
        unsent="Could not send your answer. Open the card to try again.",
    )


def press(device: Device, question: dict[str, Any], action: str) -> None:
    device.push(**with_buttons(question))
    eventually(device.shown)
    worker(device).evaluate(PRESS, [f"card-{question['id']}", action])


def worker(device: Device) -> Worker:
    def running() -> list[Worker]:
        # Whatever one asks the page: of a new worker one hears only meanwhile.
        device.page.title()
        return [one for one in device.context.service_workers if one.url.endswith("/service-worker.js")]

    return eventually(running)[0]


def test_a_button_of_a_push_answers_the_waiting_agent(agent: Agent, device: Device) -> None:
    question = agent.ask()
    with agent.waiting(question["id"]) as waiting:
        press(device, question, "1")
        reply = waiting.result()
    assert reply["answer"]["by"]["name"] == "Eli Novak"
    assert reply["answer"]["answers"][0]["selectedOptions"] == ["SQLite"]
    [shown] = eventually(lambda: [one for one in device.shown() if one["title"] == "Answered: SQLite"])
    assert shown["body"].startswith(("Next: ", "Nothing is waiting"))


def test_as_many_buttons_are_shown_as_the_platform_has(agent: Agent, device: Device) -> None:
    device.push(**with_buttons(agent.ask()))
    eventually(device.shown)
    titles = device.page.evaluate(
        """() => navigator.serviceWorker.ready.then((worker) => worker.getNotifications())
            .then(([shown]) => shown.actions.map(({ title }) => title))"""
    )
    most = device.page.evaluate("Notification.maxActions")
    assert titles == ["PostgreSQL", "SQLite", "Neither"][:most]


def test_a_button_that_lost_the_race_says_who_won(agent: Agent, bridge: Bridge, device: Device) -> None:
    question = agent.ask()
    bridge.person("ben", bridge.site).answer(question, "PostgreSQL")
    press(device, question, "1")
    [shown] = eventually(lambda: [one for one in device.shown() if "too late" in one["title"]])
    assert shown["body"] == "Answered by Ben Okafor: PostgreSQL"
    assert shown["data"]["url"] == f"/rooms/{agent.room}/questions/{question['id']}"


def test_a_button_that_cannot_send_says_so_and_leads_to_the_card(agent: Agent, device: Device) -> None:
    question = agent.ask()
    device.context.clear_cookies()  # signed out meanwhile
    press(device, question, "1")
    [shown] = eventually(lambda: [one for one in device.shown() if "Could not send" in one["body"]])
    assert shown["data"]["url"] == f"/rooms/{agent.room}/questions/{question['id']}"
    assert agent.read(question["id"])["status"] == "open"


# ---- adding a browser ------------------------------------------------------------------------------------

SUBSCRIBE = """
PushManager.prototype.getSubscription = async () => null;
PushManager.prototype.subscribe = async function ({ userVisibleOnly, applicationServerKey }) {
  const key = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, false, ["deriveBits"]);
  const point = await crypto.subtle.exportKey("raw", key.publicKey);
  const text = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_");
  const asked = { userVisibleOnly, length: applicationServerKey.length };
  return { endpoint: "https://push.example.org/" + JSON.stringify(asked).replaceAll(/[^a-z0-9]/gi, ""),
    keys: { p256dh: text(new Uint8Array(point)).replaceAll("=", ""), auth: "MDEyMzQ1Njc4OWFiY2RlZg" } };
};
"""


def test_a_browser_is_added_and_removed_by_buttons(open_browser: OpenBrowser, bridge: Bridge) -> None:
    context = open_browser("eli", permissions=["notifications"])
    # The one thing that needs the push service of the browser's maker.
    context.add_init_script(SUBSCRIBE)
    page = context.new_page()
    page.goto("/settings")
    devices = page.locator("#ab-settings-devices li")
    expect(devices).to_have_text("No device yet.")
    page.get_by_role("button", name="Add this browser").click()
    expect(devices).to_contain_text("Chrome on Linux")
    page.get_by_role("button", name="Remove Chrome on Linux").click()
    expect(devices).to_have_text("No device yet.")


def test_a_browser_that_cannot_be_added_says_why(open_browser: OpenBrowser) -> None:
    page = open_browser("eli").new_page()
    page.goto("/settings")
    page.get_by_role("button", name="Add this browser").click()
    expect(page.get_by_text("This browser could not be added.")).to_be_visible()


def test_trying_without_a_device_or_an_address_is_not_offered(open_browser: OpenBrowser) -> None:
    page = open_browser("eli").new_page()
    page.goto("/settings")
    for button in page.get_by_role("button", name="Send a test").all():
        expect(button).to_be_disabled()
