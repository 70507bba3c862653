"""The OpenAPI document of the agents' API.

Its schemas are made from the models that validate (`contract/payload.py`) and the shapes that are sent
(`serializers.py`). Only `operations.py` and `parameters.py` are written by hand.
"""

from functools import lru_cache
from http import HTTPStatus
from typing import Any, cast

from django.urls import reverse
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from rooms import __version__, serializers
from rooms.api.operations import CALLS, EXAMPLE_ASK, PATH_PARAMETERS, PROBLEMS, RETRYABLE, Call
from rooms.api.parameters import parameters
from rooms.api.schemas import Json, Problem
from rooms.contract.asks import Ask
from rooms.contract.payload import ResponseContent
from rooms.contract.problems import CONTENT_TYPE as PROBLEM
from rooms.contract.problems import TITLES

JSON = "application/json"
EVENT_STREAM = "text/event-stream"


# JSON inside the text of `content`; schemas refer to it as `contentSchema`.
CONTENTS = (serializers.AskUserQuestionContent, serializers.AskUserQuestionResponseContent, ResponseContent)


def document() -> Json:
    """The whole document, with addresses below the prefix of the portal."""
    return _document(reverse("ask_bridge:inbox"))


# Usually one prefix per process; a few hosts serve the same site below several.
@lru_cache(maxsize=8)
def _document(prefix: str) -> Json:
    paths: dict[str, Json] = {}
    for call in CALLS:
        path = _path(call.address, prefix)
        paths.setdefault(path, {})[call.method] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ask Bridge",
            "version": __version__,
            "description": "Agents ask, people answer on a web page, agents go on.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": prefix.rstrip("/") or "/"}],
        "security": [{"agentKey": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "agentKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "abk_LOOKUP_SECRET",
                    "description": "An agent key, bound to one room.",
                }
            },
            "parameters": parameters(),
            "responses": {_problem_name(status): _problem(status) for status in PROBLEMS},
            "schemas": _schemas(),
        },
    }


def _path(address: str, prefix: str) -> str:
    """An address below the prefix, as a template."""
    parameter = PATH_PARAMETERS.get(address)
    # `reverse` would refuse or encode the braces of a template.
    stand_in = "PARAMETER"
    path = reverse(f"ask_bridge:{address}", kwargs={parameter: stand_in} if parameter else {})
    return "/" + path.removeprefix(prefix).replace(stand_in, f"{{{parameter}}}")


def _operation(call: Call) -> Json:
    operation: Json = {"operationId": call.id, "summary": call.summary}
    if call.description:
        operation["description"] = call.description
    if call.is_public:
        operation["security"] = []
    in_path = PATH_PARAMETERS.get(call.address)
    if names := [*([in_path] if in_path else []), *call.parameters]:
        operation["parameters"] = [_reference("parameters", name) for name in names]
    if call.body:
        content: Json = {"schema": _schema(call.body)}
        if call.body is Ask:
            content["example"] = EXAMPLE_ASK
        operation["requestBody"] = {"required": True, "content": {JSON: content}}
    problems = () if call.is_public else (401, 404, *call.problems, 503)
    operation["responses"] = {
        **{str(status): _response(call, *reply) for status, reply in sorted(call.replies.items())},
        **{str(status): _reference("responses", _problem_name(status)) for status in sorted(problems)},
    }
    return operation


def _response(call: Call, description: str, shape: Any) -> Json:
    content: Json = {}
    if shape:
        content[JSON] = {"schema": _schema(shape)}
    if call.address == "api-events":
        content[EVENT_STREAM] = {"schema": {"type": "string"}}
    return {"description": description, "content": content} if content else {"description": description}


def _problem(status: int) -> Json:
    response: Json = {
        "description": PROBLEMS[status],
        "content": {PROBLEM: {"schema": _schema(Problem)}},
    }
    if status in RETRYABLE:
        response["headers"] = {
            "Retry-After": {
                "description": "Seconds to wait before the next try.",
                "schema": {"type": "integer"},
            }
        }
    return response


def _problem_name(status: int) -> str:
    return (TITLES.get(status) or HTTPStatus(status).phrase).replace(" ", "")


def _reference(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}


class _WithoutFieldTitles(GenerateJsonSchema):
    """Leaves out titles that only repeat the name of a field."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _schema(model: Any) -> Json:
    return {"type": "object"} if model is dict else _reference("schemas", model.__name__)


def _schemas() -> Json:
    """The schemas of all bodies and replies, with the schemas that they refer to."""
    models: dict[str, Any] = {model.__name__: model for model in (Problem, *CONTENTS)}
    for call in CALLS:
        for model in (call.body, *(shape for _, shape in call.replies.values())):
            if model not in (None, dict):
                models[model.__name__] = model
    _, schemas = TypeAdapter.json_schemas(
        [(name, "validation", TypeAdapter(model)) for name, model in models.items()],
        ref_template="#/components/schemas/{model}",
        schema_generator=_WithoutFieldTitles,
    )
    return cast(Json, schemas["$defs"])
