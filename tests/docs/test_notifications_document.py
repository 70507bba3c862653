"""docs/notifications.md: the example that checks a signature does, and what it says of shapes is so."""

import re
import time

import pytest

from rooms.models import Notice
from rooms.notifications.channels import webhook
from tests.harness.sites import ROOT

DOCUMENT = (ROOT / "docs" / "notifications.md").read_text()
[EXAMPLE] = re.findall(r"```python\n(.*?)```", DOCUMENT, re.DOTALL)
SECRET, BODY = "abw_secret", b'{"type": "question.asked"}'


@pytest.fixture
def is_from_ask_bridge():
    names: dict = {}
    exec(EXAMPLE, names)  # noqa: S102 - our own document
    return names["is_from_ask_bridge"]


def test_the_example_knows_our_signature(is_from_ask_bridge) -> None:
    now = int(time.time())
    assert is_from_ask_bridge(SECRET, webhook.signature(SECRET, BODY, now), BODY)


def test_the_example_refuses_everything_else(is_from_ask_bridge) -> None:
    now = int(time.time())
    right = webhook.signature(SECRET, BODY, now)
    assert not is_from_ask_bridge("abw_other", right, BODY)
    assert not is_from_ask_bridge(SECRET, right, BODY + b" ")
    assert not is_from_ask_bridge(SECRET, right.replace(f"t={now}", f"t={now + 1}"), BODY)
    assert not is_from_ask_bridge(SECRET, webhook.signature(SECRET, BODY, now - 3600), BODY)


def test_every_type_of_event_is_named() -> None:
    for kind in set(Notice.Kind) - {Notice.Kind.TEST}:
        assert f"`question.{kind}`" in DOCUMENT
