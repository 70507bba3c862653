"""Calls of agents go past what the site has for people, and lose nothing of what every reply needs."""

import json

from tests.actors import Agent


def test_a_reply_is_whole_and_knows_nothing_of_people(agent: Agent) -> None:
    reply = agent.call("POST", f"{agent.path}/questions", agent.question())

    assert reply.status == 201
    assert int(reply.headers["Content-Length"]) == len(reply.text.encode())
    assert reply.headers["Content-Language"] == "en"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in reply.headers
    assert "Set-Cookie" not in reply.headers
    assert "Cookie" not in reply.headers.get("Vary", "")


def test_somebody_elses_host_name_is_refused_by_every_call(agent: Agent) -> None:
    headers = agent.headers() | {"Host": "evil.example"}
    message = json.dumps({"sender": "test-agent", "content": "Hello"})

    for method, path, body in (
        ("GET", f"{agent.path}/questions", None),
        ("GET", f"{agent.path}/messages", None),
        ("POST", f"{agent.path}/messages", message),
    ):
        reply = agent.site.request(method, path, body=body, headers=headers)
        assert (reply.status, reply.json()["code"]) == (400, "bad_host"), path


def test_a_path_that_is_no_call_is_told_in_json(agent: Agent) -> None:
    reply = agent.call("GET", "/api/v1/nothing")

    assert (reply.status, reply.json()["code"]) == (404, "not_found")
