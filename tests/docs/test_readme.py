"""README.md: short, begins with a start, and its first question works."""

import json
import re
from dataclasses import replace

from bridge.first_run import first_question
from tests.docs.reader import Reader, examples
from tests.harness.sites import ROOT

DOCUMENT = (ROOT / "README.md").read_text()


def test_it_is_short_and_begins_with_a_start() -> None:
    assert DOCUMENT.count("\n") < 200
    beginning = DOCUMENT.partition("\n## ")[0]
    assert beginning.index("make run") < beginning.index("curl") < beginning.index("click.")


def test_the_first_question_is_asked_and_answered(reader: Reader) -> None:
    [first] = [example for example in examples(DOCUMENT) if "curl" in example.command]
    answered = json.loads(reader.run(replace(first, label="SQLite")))
    assert answered["status"] == "answered"
    [choice] = answered["answer"]["answers"]
    assert choice["selectedOptions"] == ["SQLite"]
    assert answered["answer"]["by"] == {"username": "ana", "name": "Ana Costa"}


def test_the_first_question_is_the_one_that_the_first_start_prints() -> None:
    [first] = [example for example in examples(DOCUMENT) if "curl" in example.command]
    assert first.command == first_question("http://127.0.0.1:8000")


def test_its_calls_are_those_of_the_api_document() -> None:
    full = (ROOT / "docs" / "api.md").read_text()
    rows = re.findall(r"^\| (`(?:GET|POST|DELETE).+?) \|", DOCUMENT, re.MULTILINE)
    for path in {path for row in rows for path in re.findall(r"(/[^`?\s]+)", row)}:
        assert re.search(rf"^### \w+ {re.escape(path)}$", full, re.MULTILINE), path
