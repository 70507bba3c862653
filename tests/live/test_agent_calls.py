"""Agent calls skip the middleware for people, and still get what every reply needs."""

import json

from tests.harness.agents import Agent


def test_a_reply_is_whole_and_knows_nothing_of_people(agent: Agent) -> None:
    reply = agent.call("POST", f"{agent.path}/questions", agent.question_body())

    assert reply.status == 201
    assert int(reply.headers["Content-Length"]) == len(reply.text.encode())
    assert reply.headers["Content-Language"] == "en"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in reply.headers
    assert "Set-Cookie" not in reply.headers
    assert "Cookie" not in reply.headers.get("Vary", "")


def test_a_foreign_host_name_is_refused_by_every_call(agent: Agent) -> None:
    headers = agent.headers() | {"Host": "evil.example"}
    question = agent.ask()
    message = {"sender": "test-agent", "content": "Hello"}
    tool = {"questions": agent.question_body()["questions"]}
    hook = {"hook_event_name": "PreToolUse", "tool_name": "AskUserQuestion", "tool_input": tool}

    for method, path, body in (
        ("GET", f"{agent.path}/questions", None),
        ("GET", f"{agent.path}/messages", None),
        ("GET", f"{agent.path}/messages?wait=30", None),
        ("GET", f"{agent.path}/events", None),
        ("GET", f"/api/v1/questions/{question['id']}?wait=30", None),
        ("POST", f"{agent.path}/questions?wait=30", agent.question_body()),
        ("POST", f"{agent.path}/messages", message),
        ("POST", f"{agent.path}/hooks/claude-code", hook),
    ):
        reply = agent.site.request(method, path, body=body and json.dumps(body), headers=headers)
        assert (reply.status, reply.json()["code"]) == (400, "bad_host"), path
    assert [one["id"] for one in agent.open_questions()] == [question["id"]]


def test_every_json_reply_ends_with_a_line_break_that_is_counted(agent: Agent) -> None:
    question = agent.ask()
    hook = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {}}

    for method, path, body in (
        ("GET", f"{agent.path}/questions", None),
        ("POST", f"{agent.path}/questions", agent.question_body()),
        ("POST", f"{agent.path}/questions?wait=0", agent.question_body()),
        ("GET", f"/api/v1/questions/{question['id']}", None),
        ("GET", f"/api/v1/questions/{question['id']}?wait=0", None),
        ("GET", f"{agent.path}/messages", None),
        ("GET", f"{agent.path}/messages?wait=0", None),
        ("POST", f"{agent.path}/hooks/claude-code", hook),
        ("GET", "/api/v1/openapi.json", None),
        ("GET", "/api/v1/nothing", None),
        ("GET", "/healthz", None),
    ):
        reply = agent.call(method, path, body)
        assert reply.text.endswith("}\n"), path
        assert not reply.text.endswith("\n\n"), path
        assert int(reply.headers["Content-Length"]) == len(reply.text.encode()), path


def test_a_path_that_is_no_call_is_told_in_json(agent: Agent) -> None:
    reply = agent.call("GET", "/api/v1/nothing")

    assert (reply.status, reply.json()["code"]) == (404, "not_found")
