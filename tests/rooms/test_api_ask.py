"""POST /api/v1/rooms/{room}/questions"""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rooms import lifecycle
from rooms.models import Answer, Question

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def test_new_question_comes_back_as_the_question_object(agent: Any, body: dict[str, Any]) -> None:
    response = agent.post(
        agent.questions_url,
        {
            **body,
            "session_id": "8f0c",
            "tool_use_id": "toolu_abc",
            "context": {"text": "what the agent said last", "cwd": "/srv", "branch": "main"},
        },
    )
    assert response.status_code == 201
    reply = response.json()
    stored = Question.objects.get()
    assert RFC_3339.fullmatch(reply.pop("asked_at"))
    assert reply == {
        "id": stored.pk,
        "room": "ops",
        "status": "open",
        "url": f"http://testserver/rooms/ops/questions/{stored.pk}",
        "agent": {"name": "refactor-bot", "color": "#818cf8", "active": False, "last_seen_at": None},
        "session_id": "8f0c",
        "tool_use_id": "toolu_abc",
        "questions": [
            {
                "question": "Which database should we use?",
                "header": "Database",
                "multiSelect": False,
                "options": [
                    {
                        "label": "PostgreSQL (Recommended)",
                        "description": "Grows with us.",
                        "preview": "",
                    },
                    {"label": "SQLite", "description": "", "preview": ""},
                ],
            }
        ],
        "context": {"text": "what the agent said last", "cwd": "/srv", "branch": "main"},
        "expires_at": None,
        "settled_at": None,
        "delivered_at": None,
        "revision": 1,
        "care": None,
        "answer": None,
        "ended": None,
    }


def test_only_questions_are_required(agent: Any) -> None:
    response = agent.post(
        agent.questions_url, {"questions": [{"question": "?", "options": [{"label": "A"}, {"label": "B"}]}]}
    )
    assert response.status_code == 201
    reply = response.json()
    assert (reply["session_id"], reply["tool_use_id"], reply["context"]) == (None, None, {})


@pytest.mark.parametrize(
    "shape",
    [
        {"question": "Which colour?", "options": ["Red", "Blue"]},
        {"questions": [{"question": "Which colour?", "options": ["Red", "Blue"]}]},
        {"questions": json.dumps([{"question": "Which colour?", "options": ["Red", "Blue"]}])},
        {"question": "Which colour?", "options": json.dumps(["Red", "Blue"])},
        {"question": "Which colour?", "follow_up": ["Red", "Blue"]},
        {
            "tool_name": "AskUserQuestion",
            "tool_input": {"question": "Which colour?", "options": ["Red", "Blue"]},
        },
    ],
    ids=["flat", "strings", "nested questions", "nested options", "follow_up", "envelope"],
)
def test_other_shapes_come_back_canonical(agent: Any, shape: dict[str, Any]) -> None:
    (prompt,) = agent.post(agent.questions_url, shape).json()["questions"]
    assert prompt["question"] == "Which colour?"
    assert [option["label"] for option in prompt["options"]] == ["Red", "Blue"]


def test_deadline_is_told(agent: Any, body: dict[str, Any]) -> None:
    reply = agent.post(agent.questions_url, {**body, "timeout_seconds": 3600}).json()
    stored = Question.objects.get()
    assert stored.expires_at == stored.asked_at + timedelta(hours=1)
    assert RFC_3339.fullmatch(reply["expires_at"])


def test_cookies_and_forged_origins_mean_nothing(agent: Any, body: dict[str, Any], ana: Any) -> None:
    agent.client = Client(enforce_csrf_checks=True)
    agent.client.force_login(ana)
    assert agent.post(agent.questions_url, body, Origin="https://evil.example").status_code == 201
    assert "Set-Cookie" not in agent.post(agent.questions_url, body)


def test_untrusted_text_comes_back_as_it_was(agent: Any) -> None:
    text = "<script>alert(1)</script> \u202e {{ 7*7 }} {% now %} ‘Grüße’ 日本 👩‍👩‍👧 \x07"
    label = "".join(character for character in text if character not in "\u202e\x07")
    option = {"label": label, "description": text, "preview": text}
    reply = agent.post(agent.questions_url, {"question": text, "options": [option, "B"]}).json()
    assert reply["questions"][0]["question"] == text
    assert reply["questions"][0]["options"][0] == option


def test_largest_question_fits(agent: Any) -> None:
    """Every text at its limit, as far as 64 KiB go."""
    options = [
        {"label": f"{number}".ljust(200, "x"), "description": "d" * 1_000, "preview": "p" * 8_000}
        for number in range(4)
    ]
    prompt = {"question": "q" * 2_000, "header": "h" * 80, "options": options}
    response = agent.post(agent.questions_url, {"questions": [prompt], "context": {"text": "c" * 8_000}})
    assert response.status_code == 201
    assert response.json()["questions"][0]["options"][3]["preview"] == "p" * 8_000


# ---- idempotency ---------------------------------------------------------------------------------


def test_same_idempotency_key_gives_the_same_question(agent: Any, body: dict[str, Any]) -> None:
    first = agent.post(agent.questions_url, body, Idempotency_Key="k1")
    again = agent.post(agent.questions_url, body, Idempotency_Key="k1")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert Question.objects.count() == 1


def test_other_idempotency_key_gives_another_question(agent: Any, body: dict[str, Any]) -> None:
    agent.post(agent.questions_url, body, Idempotency_Key="k1")
    assert agent.post(agent.questions_url, body, Idempotency_Key="k2").status_code == 201


def test_idempotency_key_of_another_agent_is_another(
    agent: Any, second_agent: Any, body: dict[str, Any]
) -> None:
    agent.post(agent.questions_url, body, Idempotency_Key="k1")
    assert second_agent.post(agent.questions_url, body, Idempotency_Key="k1").status_code == 201


def test_same_tool_use_gives_the_same_question_as_it_stands_now(
    agent: Any, body: dict[str, Any], ana: Any
) -> None:
    body |= {"session_id": "s", "tool_use_id": "t"}
    first = agent.post(agent.questions_url, body)
    choice = {"question": "Which database should we use?", "selectedOptions": ["SQLite"]}
    lifecycle.answer(Question.objects.get(), [choice], via=Answer.Via.WEB, user=ana)
    again = agent.post(agent.questions_url, body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json()["id"] == first.json()["id"]
    assert again.json()["status"] == "answered"
    assert again.json()["answer"]["by"] == {"username": "ana", "name": "Ana Costa"}


def test_second_agent_of_the_room_gets_the_question_of_the_same_tool_use(
    agent: Any, second_agent: Any, body: dict[str, Any]
) -> None:
    body |= {"session_id": "s", "tool_use_id": "t"}
    first = agent.post(agent.questions_url, body)
    again = second_agent.post(agent.questions_url, body)
    assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])


def test_other_shape_of_the_same_question_is_the_same(agent: Any) -> None:
    flat = {"question": "Which colour?", "options": ["Red", "Blue"]}
    agent.post(agent.questions_url, flat, Idempotency_Key="k1")
    listed = {"questions": [{"question": "Which colour?", "options": [{"label": "Red"}, {"label": "Blue"}]}]}
    assert agent.post(agent.questions_url, listed, Idempotency_Key="k1").status_code == 200


@pytest.mark.parametrize(
    ("fields", "headers"),
    [({}, {"Idempotency_Key": "k1"}), ({"session_id": "s", "tool_use_id": "t"}, {})],
    ids=["header", "tool use"],
)
def test_same_key_with_another_question_is_a_conflict(
    agent: Any, body: dict[str, Any], problem: Any, fields: dict[str, str], headers: dict[str, str]
) -> None:
    agent.post(agent.questions_url, body | fields, **headers)
    other = {"question": "Now?", "options": ["Yes", "No"], **fields}
    problem(agent.post(agent.questions_url, other, **headers), 409, "idempotency_conflict")
    assert Question.objects.count() == 1


def test_idempotency_key_has_a_longest_length(agent: Any, body: dict[str, Any], problem: Any) -> None:
    assert agent.post(agent.questions_url, body, Idempotency_Key="k" * 200).status_code == 201
    refused = problem(
        agent.post(agent.questions_url, body, Idempotency_Key="k" * 201), 422, "invalid_parameter"
    )
    assert refused["errors"][0]["field"] == "Idempotency-Key"
    assert Question.objects.count() == 1


# ---- rate ----------------------------------------------------------------------------------------


def test_too_many_asks_are_refused_with_a_time_to_come_back(
    agent: Any, second_agent: Any, body: dict[str, Any], problem: Any, settings: Any
) -> None:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 2}
    assert [agent.post(agent.questions_url, body).status_code for _ in range(2)] == [201, 201]
    response = agent.post(agent.questions_url, body)
    problem(response, 429, "too_many_requests")
    assert int(response["Retry-After"]) > 0
    assert Question.objects.count() == 2
    assert second_agent.post(agent.questions_url, body).status_code == 201, "each key has its own rate"


def test_asks_older_than_a_minute_no_longer_count(agent: Any, body: dict[str, Any], settings: Any) -> None:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 1}
    agent.post(agent.questions_url, body)
    Question.objects.update(asked_at=timezone.now() - timedelta(seconds=61))
    assert agent.post(agent.questions_url, body).status_code == 201


def test_rate_of_zero_is_no_limit(agent: Any, body: dict[str, Any], settings: Any) -> None:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 0}
    assert {agent.post(agent.questions_url, body).status_code for _ in range(3)} == {201}
