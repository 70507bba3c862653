"""The language of the site, for browsers that ask for none of ours; agents are always answered in English."""

import json
import re
from collections.abc import Callable

import pytest

from tests.harness.sites import Site

Serve = Callable[..., Site]


@pytest.fixture
def german_site(serve: Serve) -> Site:
    return serve(LANGUAGE_CODE="de")


def test_pages_and_calls_of_a_german_site(german_site: Site) -> None:
    def login(language: str) -> str:
        return german_site.request("GET", "/login/", headers={"Accept-Language": language}).text

    assert "<h1>Anmelden</h1>" in login("fr")
    assert "<h1>Sign in</h1>" in login("en-GB,fr;q=0.5")

    found = re.search(r"abk_\w+", german_site.printed)
    assert found
    headers = {
        "Authorization": f"Bearer {found.group()}",
        "Content-Type": "application/json",
        "Accept-Language": "de",
    }
    asked = {"questions": [{"question": "x" * 2001, "options": ["a", "b"]}]}
    hook = {"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": asked}
    # A plain call, one that waits, and a hook: each has a way of its own through the server.
    for path, body, status in (
        ("questions", asked, 422),
        ("questions?wait=1", asked, 422),
        ("hooks/claude-code?headless=1", hook, 200),
    ):
        reply = german_site.request(
            "POST", f"/api/v1/rooms/lobby/{path}", body=json.dumps(body), headers=headers
        )
        assert reply.status == status
        assert "is too long: 2,001 characters, 2,000 are allowed" in reply.text
