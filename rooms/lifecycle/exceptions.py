"""Exceptions of the lifecycle: the reasons why a verb refuses."""

from rooms.models import Question


class AlreadySettled(Exception):
    """The question was settled before, or is in another state; `question` is how it is now."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.pk} is {question.status}")
        self.question = question


class NotTheirTurn(Exception):
    """Other people are asked first, or only others may vote; `question` says who."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.pk} is for others")
        self.question = question


class NotDecided(Exception):
    """The question is open: there is no decision to correct. `question` is how it is now."""

    def __init__(self, question: Question) -> None:
        super().__init__(f"{question.pk} is open")
        self.question = question


class NeedsNewerVersion(Exception):
    """A newer version of Ask Bridge has stored what decides here; this process leaves it to newer ones."""


class NeedsPeople(Exception):
    """An agent reports an answer from elsewhere, but certain people have to decide this question here."""


class RoomArchived(Exception):
    """The room is archived, so that nothing can be asked in it; or it is deleted."""


class AskedDifferently(Exception):
    """The same idempotency key was sent with another question."""


class LastManager(Exception):
    """The change would leave the room without a manager."""


class InvitationEnded(Exception):
    """The link is past its end, used up or revoked, or the person who made it no longer manages the room."""


class TooManyInvitations(Exception):
    """The room has as many usable links as it may have."""
