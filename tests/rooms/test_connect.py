"""The Connect page: what it offers to paste, its tabs, the checklist of a key, and the test question."""

import hashlib
import re
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from bridge.first_run import first_question
from rooms import access
from rooms.models import AgentKey, Membership, Question, Room


@pytest.fixture
def manager(ana: Any, room: Room) -> Client:
    """Ana, who manages the room."""
    Membership.objects.filter(user=ana).update(role=Membership.Role.MANAGER)
    browser = Client()
    browser.force_login(ana)
    return browser


def test_the_hash_on_the_page_is_that_of_the_downloaded_file(
    browser: Client, room: Room, tmp_path: Path
) -> None:
    client = browser.get("/ask-bridge.pyz").content
    page = unescape(browser.get("/rooms/ops/connect").content.decode())
    check = re.search(r"<code>(echo .* \| sha256sum -c)</code>", page)
    assert check
    assert hashlib.sha256(client).hexdigest() in check[1]
    downloaded = tmp_path / ".local" / "bin" / "ask-bridge"
    downloaded.parent.mkdir(parents=True)
    for content, code in ((client, 0), (client + b"#", 1)):
        downloaded.write_bytes(content)
        checked = subprocess.run(
            ["sh", "-c", check[1]], env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}, capture_output=True
        )
        assert checked.returncode == code


# ---- tabs ------------------------------------------------------------------------------------------------


def open_tab(shown: Any) -> list[str]:
    return re.findall(r'class="ab-client ab-is-chosen" id="ab-client-(\w+)"', shown.content.decode())


@pytest.mark.parametrize("client", ["http", "command", "sdk", "mcp", "cli", "curl"])
def test_the_address_opens_a_tab(browser: Client, room: Room, client: str) -> None:
    shown = browser.get(f"/rooms/ops/connect?client={client}")
    assert open_tab(shown) == [client]
    assert f'href="/rooms/ops/connect?client={client}#ab-client-{client}"' in shown.content.decode()


def test_an_unknown_tab_is_the_first_one(browser: Client, room: Room) -> None:
    assert open_tab(browser.get("/rooms/ops/connect?client=telnet")) == ["http"]


def test_a_new_key_keeps_the_tab_and_no_tab_leaves_its_page(manager: Client, room: Room) -> None:
    made = manager.post("/rooms/ops/connect", {"label": "bot", "client": "mcp"})
    assert open_tab(made) == ["mcp"]
    assert set(re.findall(r'href="([^"]*)"\s+data-tab=', made.content.decode())) == {
        f"#ab-client-{client}" for client in ("http", "command", "sdk", "mcp", "cli", "curl")
    }


# ---- the checklist ---------------------------------------------------------------------------------------


def steps_done(shown: Any) -> list[str]:
    return re.findall(r'class="ab-tick ab-is-done">.*?<strong>(.*?)</strong>', shown.content.decode(), re.S)


def test_the_checklist_ticks_what_the_key_has_done(manager: Client, agent: Any) -> None:
    address = f"/rooms/ops/connect/steps?key={agent.key_row.lookup}"
    assert steps_done(manager.get(address)) == ["Key created"]
    agent.get(agent.questions_url)
    assert steps_done(manager.get(address)) == ["Key created", "First call"]
    asked = agent.ask()
    assert steps_done(manager.get(address))[2:] == ["First question"]
    manager.post(f"/rooms/ops/questions/{asked['id']}/answer", {"choice-0": "0"})
    assert steps_done(manager.get(address))[3:] == ["First answer"]
    assert 'hx-trigger="every 2s"' in manager.get(address).content.decode()
    agent.wait(asked["id"], seconds=1)
    complete = manager.get(address)
    assert steps_done(complete)[4:] == ["Delivered"]
    assert "hx-trigger" not in complete.content.decode()


def test_the_checklist_says_nothing_while_nothing_is_new(manager: Client, agent: Any) -> None:
    assert manager.get("/rooms/ops/connect/steps?done=1").status_code == 204
    agent.get(agent.questions_url)
    news = manager.get("/rooms/ops/connect/steps?done=1")
    assert (news.status_code, news["HX-Trigger"]) == (200, "ab-step-done")
    # A screen reader gets this sentence, and not the whole list again.
    assert '<p id="ab-announcer" hx-swap-oob="innerHTML">Done: First call</p>' in news.content.decode()


def test_the_checklist_follows_the_newest_key_or_the_one_that_a_manager_names(
    manager: Client, agent: Any, second_agent: Any
) -> None:
    agent.get(agent.questions_url)
    assert "deploy-bot" in manager.get("/rooms/ops/connect/steps").content.decode()
    named = manager.get(f"/rooms/ops/connect/steps?key={agent.key_row.lookup}")
    assert "refactor-bot" in named.content.decode()
    access.revoke_keys(AgentKey.objects.filter(pk=second_agent.key_row.pk))
    assert "refactor-bot" in manager.get("/rooms/ops/connect/steps").content.decode()


def test_no_key_has_a_name_with_a_zero_byte(manager: Client, agent: Any) -> None:
    assert manager.get("/rooms/ops/connect/steps?key=%00").status_code == 200


def test_a_key_of_another_room_is_not_followed(manager: Client, room: Room, foreign_agent: Any) -> None:
    shown = manager.get(f"/rooms/ops/connect/steps?key={foreign_agent.key_row.lookup}")
    assert foreign_agent.key_row.label not in shown.content.decode()
    assert steps_done(shown) == []


# ---- the test question -----------------------------------------------------------------------------------


def test_the_test_question_is_asked_with_the_key(browser: Client, agent: Any) -> None:
    sent = browser.post("/rooms/ops/connect/test", {"agent_key": f" {agent.key} "})
    question = Question.objects.get()
    assert sent["Location"] == f"/rooms/ops/questions/{question.pk}"
    assert question.key == agent.key_row
    agent.key_row.refresh_from_db()
    assert agent.key_row.last_used_at is not None


def test_without_a_key_the_test_question_is_one_of_the_person(browser: Client, agent: Any) -> None:
    browser.post("/rooms/ops/connect/test", {"agent_key": ""})
    assert Question.objects.get().key is None


def test_a_key_that_does_not_work_here_asks_nothing(browser: Client, agent: Any, foreign_agent: Any) -> None:
    access.revoke_keys(AgentKey.objects.filter(pk=agent.key_row.pk))
    for key in ("abk_nonsense", agent.key, foreign_agent.key):
        refused = browser.post("/rooms/ops/connect/test", {"agent_key": key})
        assert refused.status_code == 422
        assert "This key does not work in this room." in refused.content.decode()
        assert key not in refused.content.decode()
    assert not Question.objects.exists()


def test_a_key_that_may_only_answer_is_named_as_such(browser: Client, room: Room) -> None:
    _, text = access.create_key(room, label="chat", scopes=["answer"])
    refused = browser.post("/rooms/ops/connect/test", {"agent_key": text})
    assert (refused.status_code, Question.objects.count()) == (422, 0)
    assert "This key may not ask questions" in refused.content.decode()


# ---- an empty room ---------------------------------------------------------------------------------------


def test_an_empty_room_shows_the_question_of_the_first_start(browser: Client, agent: Any) -> None:
    command = first_question("http://testserver").strip().replace("/lobby/", "/ops/")
    assert command in unescape(browser.get("/rooms/ops").content.decode())
    agent.ask()
    assert "curl -s" not in browser.get("/rooms/ops").content.decode()


def test_an_empty_room_without_a_key_leads_to_the_connect_page(browser: Client, room: Room) -> None:
    shown = browser.get("/rooms/ops").content.decode()
    assert "Connect the first agent" in shown
    assert "curl -s" not in shown
