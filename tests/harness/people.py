"""Visitors and signed-in people: browsers without JavaScript, over HTTP to a running site."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any
from urllib.parse import urlencode

from tests.harness.http import EventStream, Reply, open_response
from tests.harness.sites import Site


class Visitor:
    """A browser without JavaScript that is not signed in."""

    login_address = "/login/"

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}

    def get(self, path: str, **headers: str) -> Reply:
        return self._keep(self.site.request("GET", path, headers=self._headers(headers)))

    def post(self, path: str, fields: dict[str, Any], **headers: str) -> Reply:
        if "csrftoken" not in self.cookies:
            self.get(self.login_address)
        fields = {"csrfmiddlewaretoken": self.cookies["csrftoken"], **fields}
        headers |= {"Content-Type": "application/x-www-form-urlencoded"}
        return self._keep(
            self.site.request(
                "POST", path, body=urlencode(fields, doseq=True), headers=self._headers(headers)
            )
        )

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Cookie": cookies} | {name.replace("_", "-"): value for name, value in headers.items()}

    def _keep(self, reply: Reply) -> Reply:
        for cookie in reply.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return reply


class Person(Visitor):
    """A person who is signed in."""

    # The path below which a portal has mounted the bridge.
    prefix = ""

    def __init__(self, site: Site, username: str, password: str, name: str = "") -> None:
        super().__init__(site)
        self.username, self.password, self.name = username, password, name or username
        reply = self.post(self.login_address, {"username": username, "password": password})
        assert reply.status == 302, f"{username} could not sign in"

    def sign_out(self) -> None:
        assert self.post("/logout/", {}).status == 302

    def form_of(self, question: Any) -> dict[str, Any]:
        """The card's form as the page has it: where it goes and what each field is called."""
        html = self.get(f"{self.prefix}/rooms/{question['room']}/questions/{question['id']}").text
        action = re.search(r'<form class="ab-card-form[^>]* action="([^"]+)"', html)
        assert action, "the page has no form to answer with"
        labels = re.findall(
            r'name="(choice-\d+)" value="(\w+)"[^>]*>\s*<span[^>]*>\s*<span class="ab-option-label">([^<]*)',
            html,
        )
        return {
            "action": action.group(1),
            "fields": {unescape(label).strip(): (name, value) for name, value, label in labels},
        }

    def answer(self, question: Any, label: str) -> Reply:
        form = self.form_of(question)
        name, value = form["fields"][label]
        reply = self.post(form["action"], {name: value})
        assert reply.status == 303, reply.status
        return reply

    def submit(self, question: Any, *fields: tuple[str, str]) -> None:
        """Send the card's form with these fields; a name comes several times where boxes are ticked."""
        named: dict[str, list[str]] = {}
        for name, value in fields:
            named.setdefault(name, []).append(value)
        reply = self.post(self.form_of(question)["action"], named)
        assert reply.status == 303, reply.text

    def skip(self, question: Any, reason: str = "") -> None:
        path = f"{self.prefix}/rooms/{question['room']}/questions/{question['id']}/skip"
        assert self.post(path, {"reason": reason}).status == 303

    def ask_back(self, question: Any, text: str) -> None:
        path = f"{self.prefix}/rooms/{question['room']}/questions/{question['id']}/reply"
        assert self.post(path, {"reply": text}).status == 303

    def say(self, content: str, room: str = "") -> None:
        reply = self.post(f"{self.prefix}/rooms/{room or self.room}/messages", {"content": content})
        assert reply.status == 302

    # The room of `say` by default.
    room = ""

    def page_cursor(self, room: str) -> str:
        found = re.search(
            rf"/stream\?[^\"]*since=(?:[^\"]*,)?{room}:(\d+)", self.get(f"{self.prefix}/rooms/{room}").text
        )
        assert found
        return found.group(1)

    @contextmanager
    def stream(
        self, room: str | None, since: int | str | None = None, last_event_id: str = ""
    ) -> Iterator[EventStream]:
        path = f"{self.prefix}/rooms/{room}/stream" if room else f"{self.prefix}/stream"
        path += "" if since is None else f"?since={since}"
        headers = self._headers({"Last_Event_ID": last_event_id} if last_event_id else {})
        with open_response(self.site, path, headers) as (response, sock):
            yield EventStream(response, sock)
