"""Events of a page stream: complete also when rows change between its reads."""

from collections.abc import Callable

import pytest

from rooms import lifecycle
from rooms.live import events
from rooms.models import Question, Room
from rooms.timeline import entries


def test_a_question_that_changes_between_the_reads_still_comes_as_new(
    ask: Callable[..., Question], room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = ask()
    read_revision = entries._revision_of

    def read_then_change(room_id: int) -> int:
        revision = read_revision(room_id)
        lifecycle.wait_started(question.pk)
        return revision

    monkeypatch.setattr(entries, "_revision_of", read_then_change)
    cursor, sent = events.frames_after(room.pk, question.revision - 1)
    assert cursor == question.revision
    assert "question" in [frame.event for frame in sent]
    # No client gets a cursor beyond what was read.
    assert max(frame.revision for frame in sent) == cursor


def test_a_page_that_is_up_to_date_gets_nothing(ask: Callable[..., Question], room: Room) -> None:
    question = ask()
    assert events.frames_after(room.pk, question.revision) == (question.revision, [])


def test_only_marks_change_on_a_card_that_was_settled_before(
    ask: Callable[..., Question], room: Room
) -> None:
    settled = lifecycle.withdraw(ask())
    lifecycle.deliver(settled.pk)
    _, sent = events.frames_after(room.pk, settled.revision)
    assert [frame.event for frame in sent][:1] == [f"marks-{settled.pk}"]
