"""Anything that the API document allows, and much that it does not, gets a reply as documented."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from rooms.api import openapi
from tests.harness.agents import Agent
from tests.harness.bridges import Bridge

# For each call, besides those that the tool thinks up from the document by itself; more find more.
EXAMPLES = 30

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]

# Would wait for an answer, or for ever.
NO_WAIT = {"wait": "0", "timeout": "0"}


@pytest.fixture(scope="module")
def agent(bridge: Bridge) -> Agent:
    return bridge.agent()


@pytest.fixture(scope="module")
def question_id(agent: Agent) -> str:
    return str(agent.ask()["id"])


# All calls but the stream, which never ends.
schema = schemathesis.openapi.from_dict(openapi.document()).exclude(operation_id="listen")


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,  # nothing is kept between runs, as in CI, where Hypothesis insists
)
def test_every_call_replies_as_documented(case: Any, agent: Agent, question_id: str) -> None:
    if case.path_parameters and "question_id" in case.path_parameters:
        is_settling = case.operation.definition.raw["operationId"] in ("reportAnswer", "withdraw")
        case.path_parameters["question_id"] = agent.ask()["id"] if is_settling else question_id
    elif case.path_parameters:
        case.path_parameters["room"] = agent.room
    case.query = {name: NO_WAIT.get(name, value) for name, value in (case.query or {}).items()}
    if case.path.endswith("/claude-code"):
        case.query["timeout"] = "0"
    site = f"http://127.0.0.1:{agent.site.port}"
    response = case.call(base_url=site, headers={"Authorization": f"Bearer {agent.key}"})
    case.validate_response(response, checks=CHECKS)
    if response.status_code >= 400 and case.path.startswith("/api/"):
        assert response.headers["content-type"] == ["application/problem+json"]
        assert response.json().keys() >= {"type", "title", "status", "code", "detail"}
