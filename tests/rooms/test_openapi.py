"""The API document is valid, complete and true: what it promises is what is sent."""

import copy
import json
import re
from types import ModuleType
from typing import Any

import pytest
from django.test import Client
from django.test.utils import override_script_prefix
from django.urls import include, path, reverse
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from rooms import lifecycle
from rooms.api.operations import EXAMPLE_ASK
from rooms.contract.payload import parse_ask
from rooms.models import Answer, Question
from rooms.urls import urlpatterns

JSON = "application/json"
PROBLEM = "application/problem+json"


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    """As an agent reads it, without a key."""
    response = client.get("/api/v1/openapi.json")
    assert response.status_code == 200
    return json.loads(response.content)


def strict(schema: Any) -> Any:
    """The same schema, but an object may have no field that is not written down."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    stricter = {name: strict(part) for name, part in schema.items()}
    if "properties" in schema and schema.get("type") == "object":
        stricter["additionalProperties"] = False
    return stricter


def errors_in(document: dict[str, Any], schema: dict[str, Any], body: object) -> list[str]:
    components = strict(document["components"])
    validator = Draft202012Validator({**schema, "components": components})
    return [error.message for error in validator.iter_errors(body)]


def ask_schema(document: dict[str, Any]) -> dict[str, Any]:
    operation = document["paths"]["/api/v1/rooms/{room}/questions"]["post"]
    return operation["requestBody"]["content"][JSON]["schema"]


# ---- the document --------------------------------------------------------------------------------


def test_document_is_valid_openapi_3_1(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1")
    validate(document)


def test_document_has_every_api_address_and_no_other(document: dict[str, Any]) -> None:
    routes = {str(url.pattern) for url in urlpatterns if url.name != "api-not-found"}
    served = {
        "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)
        for route in routes
        if route.startswith("api/v1/") or route in ("healthz", "readyz")
    }
    assert set(document["paths"]) == served


def test_document_has_every_method_and_no_other(
    agent: Any, question: Question, document: dict[str, Any]
) -> None:
    for template, operations in document["paths"].items():
        address = template.replace("{room}", "ops").replace("{question_id}", question.pk)
        response = agent.call("TRACE", address)
        if "Allow" in response:
            # Where a probe may ask with HEAD that is the same call without its body.
            allowed = set(response["Allow"].lower().split(", ")) - {"head"}
            assert allowed == set(operations), template


def test_everything_needs_a_key_but_what_says_so(client: Client, document: dict[str, Any], db: None) -> None:
    for template, operations in document["paths"].items():
        address = template.replace("{room}", "ops").replace("{question_id}", "q_1")
        for method, operation in operations.items():
            is_public = operation.get("security") == []
            assert (client.generic(method.upper(), address).status_code == 401) is not is_public


def test_every_operation_parameter_and_problem_is_described(document: dict[str, Any]) -> None:
    operations = [operation for operations in document["paths"].values() for operation in operations.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(operation["summary"].endswith(".") for operation in operations)
    parts = document["components"]
    described = [*parts["parameters"].values(), *parts["responses"].values()]
    assert all(part["description"].endswith(".") for part in described)


def test_every_part_is_used(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    for kind in ("parameters", "responses", "schemas"):
        for name in document["components"][kind]:
            assert f'"#/components/{kind}/{name}"' in text, name


def test_wait_and_limit_have_the_limits_of_the_code(document: dict[str, Any]) -> None:
    parameters = document["components"]["parameters"]
    assert parameters["wait"]["schema"]["maximum"] == 55
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}
    assert parameters["status"]["schema"]["enum"] == [
        "open",
        "answered",
        "declined",
        "expired",
        "withdrawn",
    ]


# ---- below a prefix ------------------------------------------------------------------------------


@pytest.fixture
def portal(settings: Any) -> None:
    """A portal that includes us below a prefix."""
    urls = ModuleType("portal_urls")
    urls.urlpatterns = [path("tools/ask/", include("rooms.urls"))]  # type: ignore[attr-defined]
    settings.ROOT_URLCONF = urls


def test_standalone_server_is_the_root(document: dict[str, Any]) -> None:
    assert document["servers"] == [{"url": "/"}]


@pytest.mark.usefixtures("portal")
def test_server_is_the_prefix_and_paths_stay_the_same(client: Client, agent: Any) -> None:
    below = client.get("/tools/ask/api/v1/openapi.json").json()
    assert below["servers"] == [{"url": "/tools/ask"}]
    assert reverse("ask_bridge:api-questions", args=(agent.room,)) == "/tools/ask/api/v1/rooms/ops/questions"
    assert "/api/v1/rooms/{room}/questions" in below["paths"]
    validate(below)


@pytest.mark.usefixtures("portal")
def test_server_knows_where_the_whole_portal_is_mounted(client: Client) -> None:
    with override_script_prefix("/intranet/"):
        below = client.get("/tools/ask/api/v1/openapi.json").json()
    assert below["servers"] == [{"url": "/intranet/tools/ask"}]
    assert "/api/v1/rooms/{room}/questions" in below["paths"]


# ---- requests ------------------------------------------------------------------------------------


def test_example_is_what_the_api_takes(agent: Any, document: dict[str, Any]) -> None:
    operation = document["paths"]["/api/v1/rooms/{room}/questions"]["post"]
    example = operation["requestBody"]["content"][JSON]["example"]
    assert example == EXAMPLE_ASK
    assert errors_in(document, ask_schema(document), example) == []
    assert agent.post(agent.questions_url, example).status_code == 201


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ask: ask.pop("questions"),
        lambda ask: ask["questions"].clear(),
        lambda ask: ask["questions"].extend(copy.deepcopy(ask["questions"] * 4)),
        lambda ask: ask["questions"][0].pop("question"),
        lambda ask: ask["questions"][0].update(question="x" * 2_001),
        lambda ask: ask["questions"][0].update(multiSelect="yes"),
        lambda ask: ask["questions"][0]["options"].pop(),
        lambda ask: ask["questions"][0]["options"][0].update(label="x" * 201),
        lambda ask: ask["agent"].update(name="x" * 81),
        lambda ask: ask.update(timeout_seconds=0),
        lambda ask: ask.update(session_id=5),
        lambda ask: ask.update(default="SQLite"),
    ],
)
def test_schema_refuses_what_the_api_refuses(
    agent: Any, document: dict[str, Any], problem: Any, spoil: Any
) -> None:
    ask = copy.deepcopy(EXAMPLE_ASK)
    spoil(ask)
    assert errors_in(document, ask_schema(document), ask)
    problem(agent.post(agent.questions_url, ask), 422, "invalid_question")


@pytest.mark.parametrize(
    "report",
    [
        {"answers": {"Q": "A"}},
        {"answers": {"Q": ["A", "B"]}, "via": "terminal"},
        {"answers": [{"question": "Q", "selectedOptions": ["A"], "customInput": None, "notes": "n"}]},
    ],
)
def test_schema_takes_both_forms_of_a_reported_answer(document: dict[str, Any], report: object) -> None:
    reference = {"$ref": "#/components/schemas/ReportedAnswer"}
    assert errors_in(document, reference, report) == []


# ---- responses -----------------------------------------------------------------------------------


def test_every_documented_reply_fits_its_schema(agent: Any, document: dict[str, Any], ana: Any) -> None:
    """One walk through the whole API: each success that the document promises is seen, and fits."""
    seen = set()

    def call(method: str, template: str, body: Any = None, query: str = "", **path: str) -> Any:
        address = template.format(room="ops", **path) + query
        response = agent.call(method.upper(), address, body)
        documented = document["paths"][template][method]["responses"][str(response.status_code)]
        seen.add((template, method, response.status_code))
        if "content" not in documented:
            assert response.content == b""
            return None
        media_type = response["Content-Type"].partition(";")[0]
        schema = documented["content"][media_type]["schema"]
        assert errors_in(document, schema, response.json()) == [], (template, method)
        return response.json()

    questions, messages = "/api/v1/rooms/{room}/questions", "/api/v1/rooms/{room}/messages"
    single, wait, answer = (f"/api/v1/questions/{{question_id}}{tail}" for tail in ("", "/wait", "/answer"))
    example = EXAMPLE_ASK
    first = call("post", questions, example)["id"]
    call("post", questions, example)
    call("get", single, question_id=first, query="?wait=0")
    call("delete", wait, question_id=first)
    call("post", answer, {"answers": {"Which database should we use?": "SQLite"}}, question_id=first)
    call("get", single, question_id=first)
    second = call("post", questions, {"question": "?", "options": ["A", "B"]})["id"]
    call("delete", single, question_id=second)
    for settle in (
        lambda question: lifecycle.decline(question, ana, "Later."),
        lambda question: lifecycle.ask_back(question, ana, "How large does it get?"),
        lifecycle.expire,
        lambda question: lifecycle.answer(
            question,
            [{"question": "Which database should we use?", "customInput": "Both"}],
            via=Answer.Via.WEB,
            user=ana,
        ),
    ):
        question, _ = lifecycle.ask(agent.room_row, agent.key_row, parse_ask({**example, "tool_use_id": ""}))
        settle(question)
    call("post", messages, {"content": "Hello"})
    call("post", messages, {"content": json.dumps(example), "type": "AskUserQuestion"})
    assert len(call("get", questions)["questions"]) == 6
    call("get", questions, query="?limit=1")
    memory = call("get", "/api/v1/rooms/{room}/memory", query="?q=Which+database+should+we+use")
    assert len(memory["memories"]) == 2
    call("get", messages)
    call("get", "/api/v1/rooms/{room}/events")
    envelope = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    call("post", "/api/v1/rooms/{room}/hooks/claude-code", envelope)
    for public in ("/api/v1/openapi.json", "/healthz", "/readyz"):
        call("get", public)

    promised = {
        (template, method, int(status))
        for template, operations in document["paths"].items()
        for method, operation in operations.items()
        for status in operation["responses"]
        if status.startswith("2")
    }
    assert promised == seen


def test_content_of_questions_and_responses_fits_its_schema(
    agent: Any, document: dict[str, Any], ask: Any, ana: Any
) -> None:
    """`content` is a text; what is in it has a schema as well."""
    schemas = document["components"]["schemas"]
    by_type = {
        kind: schemas[reference.rpartition("/")[2]]["properties"]["content"]
        for kind, reference in schemas["MessageObject"]["discriminator"]["mapping"].items()
    }
    lifecycle.decline(ask(), ana, "Later.")
    lifecycle.withdraw(ask(), by=agent.key_row)
    lifecycle.expire(ask(timeout_seconds=60))
    lifecycle.expire(ask(timeout_seconds=60, default={"Which database should we use?": "SQLite"}))
    choice = {"question": "Which database should we use?", "customInput": "Both"}
    lifecycle.answer(ask(), [choice], via=Answer.Via.WEB, user=ana)
    messages = agent.get(agent.messages_url).json()["messages"]
    assert len(messages) == 10
    for message in messages:
        content = by_type[message["type"]]
        assert content["contentMediaType"] == JSON
        assert errors_in(document, content["contentSchema"], json.loads(message["content"])) == []


def test_content_to_post_has_a_schema_for_each_type(document: dict[str, Any]) -> None:
    new_message = document["components"]["schemas"]["NewMessage"]
    contents = {
        part["if"]["properties"]["type"]["const"]: part["then"]["properties"]["content"]["contentSchema"]
        for part in new_message["allOf"]
    }
    for kind, content in (
        ("AskUserQuestion", EXAMPLE_ASK),
        ("AskUserQuestionResponse", {"questionMessageId": "q_1", "selectedOptions": ["SQLite"]}),
    ):
        assert errors_in(document, contents[kind], content) == []
        assert errors_in(document, contents[kind], {}) != []


def test_every_problem_fits_the_one_schema(
    agent: Any, question: Question, document: dict[str, Any], settings: Any
) -> None:
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 2}
    asked = {"question": "?", "options": ["A", "B"]}
    lifecycle.withdraw(question)
    agent.post(agent.questions_url, asked, Idempotency_Key="k")
    other = {"question": "Another?", "options": ["A", "B"]}
    responses = [
        agent.post_raw(agent.questions_url, b"{"),
        Client().get(agent.questions_url),
        agent.get(agent.question_url("q_missing")),
        agent.delete(agent.question_url(question.pk)),
        agent.post_raw(agent.questions_url, b" " * 70_000),
        agent.post_raw(agent.questions_url, b"{}", "text/plain"),
        agent.post(agent.questions_url, {}),
        agent.post(agent.questions_url, other),
    ]
    settings.ASK_BRIDGE = {"ASKS_PER_MINUTE": 0}
    responses.append(agent.post(agent.questions_url, other, Idempotency_Key="k"))
    statuses = [response.status_code for response in responses]
    assert statuses == [400, 401, 404, 409, 413, 415, 422, 429, 409]
    for response in responses:
        names = document["components"]["responses"]
        (documented,) = (
            part
            for part in names.values()
            if response.json()["code"] in re.findall(r"`(\w+)`", part["description"])
        )
        schema = documented["content"][PROBLEM]["schema"]
        assert errors_in(document, schema, response.json()) == []
