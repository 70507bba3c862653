"""docs/api.md: every call is there, and every example replies as it says, on a new site and in this order.

After a change of what the API says, `scripts/api_examples.py` writes the replies anew.
"""

import json
import re
from typing import Any

from rooms.api import openapi
from rooms.contract import limits
from tests.docs.reader import Reader, examples, masked
from tests.harness.sites import ROOT

DOCUMENT = (ROOT / "docs" / "api.md").read_text()


def test_every_example_replies_as_the_document_says(reader: Reader) -> None:
    first, *others = examples(DOCUMENT)
    assert first.command.startswith("export BRIDGE=")
    for example in others:
        printed = reader.run(example)
        if example.language == "json":
            assert json.loads(masked(printed)) == json.loads(masked(example.reply or "")), example.command
        elif example.language == "text":
            assert masked(printed) == masked(example.reply or "").strip("\n"), example.command
        else:
            assert printed == "", example.command


def sections() -> dict[tuple[str, str], str]:
    """What the document says below each heading that is a call."""
    found = re.findall(r"^### (GET|POST|DELETE) (\S+)$(.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    return {(method, path): text for method, path, text in found}


def test_document_has_every_call_of_the_api_and_no_other() -> None:
    paths = openapi.document()["paths"]
    there = {
        (method.upper(), path.replace("{question_id}", "{id}"))
        for path, operations in paths.items()
        for method in operations
    }
    assert set(sections()) == there


def test_every_call_has_an_example_of_itself() -> None:
    for (method, path), text in sections().items():
        address = path.replace("{room}", "$ROOM").replace("{id}", "$ID")
        [call] = [example.command for example in examples(text) if example.language]
        assert re.search(rf"\$BRIDGE{re.escape(address)}[\"?]", call), path
        assert (re.findall(r"-X (\w+)", call) or ["GET"]) == [method]


def test_document_has_every_code_of_a_problem_and_no_other() -> None:
    named = re.compile(r'"code": "([a-z_]+)"|Problem\(\s*\d+,\s*"([a-z_]+)"|"(invalid_[a-z]+)"')
    sources = [*(ROOT / "rooms").rglob("*.py"), ROOT / "deploy" / "nginx.conf"]
    found: set[Any] = {code for path in sources for code in re.findall(named, path.read_text())}
    codes = {code for groups in found for code in groups if code}
    rows = re.findall(r"^\| \d{3} \| (.+?) \|", DOCUMENT, re.MULTILINE)
    # A page's stream says this to browsers; no agent ever signs in.
    assert {code for row in rows for code in re.findall(r"`(\w+)`", row)} == codes - {"signed_out"}


def test_document_has_the_limits_of_the_code() -> None:
    told = DOCUMENT.partition("Limits: ")[2]
    numbers = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", told)]
    schemas = openapi.document()["components"]["schemas"]
    counts = [schemas["Ask"]["properties"]["questions"], schemas["Prompt"]["properties"]["options"]]
    assert numbers == [
        *(count[bound] for count in counts for bound in ("minItems", "maxItems")),
        *(limits.QUESTION_LENGTH, limits.LABEL_LENGTH, limits.DESCRIPTION_LENGTH, limits.PREVIEW_LENGTH),
        *(limits.CONTEXT_LENGTH, limits.FREE_TEXT_LENGTH, limits.AGENT_NAME_LENGTH),
    ]
    assert f"over {limits.BODY_LIMIT // 1024} KiB" in DOCUMENT
    assert f"{limits.LONGEST_WAIT_SECONDS} seconds at most" in DOCUMENT
