"""Why a verb may refuse."""

from rooms.models import Question


class AlreadySettled(Exception):
    """Somebody or something was first; `question` is what they left."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.pk} is {question.status}")
        self.question = question


class NotTheirTurn(Exception):
    """Others are asked first, or are the ones who vote; `question` says who."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.pk} is for others")
        self.question = question


class NeedsPeople(Exception):
    """An agent says that a question was answered elsewhere which particular people have to decide here."""


class RoomArchived(Exception):
    """Nothing new can be asked in this room; or the room is gone altogether."""


class AskedDifferently(Exception):
    """The same idempotency key came with another question."""
