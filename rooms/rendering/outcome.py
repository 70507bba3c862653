"""How a question ended: a text, an icon, and the person in the picture."""

from dataclasses import dataclass

from django.utils.translation import gettext

from rooms.models import Answer, EndReason, Question


@dataclass(frozen=True)
class Outcome:
    """Also of a held decision, whose answer is not saved yet."""

    question: Question
    answer: Answer | None
    is_mine: bool = False

    @property
    def text(self) -> str:
        """Who did what, without need of a colour or an icon."""
        if len(self.question.decided_by) > 1:
            names = ", ".join(vote["name"] for vote in self.question.decided_by)
            return gettext("Decided by %(names)s") % {"names": names}
        if self.question.is_held:
            return self._answered_by
        match self.question.status:
            case Question.Status.ANSWERED if self.answer and self.answer.via == Answer.Via.TERMINAL:
                return gettext("Answered in the terminal")
            case Question.Status.ANSWERED if self._person:
                return self._answered_by
            case Question.Status.ANSWERED:
                return gettext("Answered by the agent")
            case Question.Status.DECLINED if self.asks_back:
                return self._decided_by(gettext("Asked back by you"), gettext("Asked back by %(name)s"))
            case Question.Status.DECLINED:
                return self._decided_by(gettext("Skipped by you"), gettext("Skipped by %(name)s"))
            case Question.Status.EXPIRED if self.answer:
                return gettext("Expired, default used")
            case _:
                return self._ending

    @property
    def portrayed(self) -> tuple[str, str] | None:
        """The name and primary key of the one person whom the outcome names, for their picture."""
        user_id = answerer_of(self.question)
        if user_id is None or len(self.question.decided_by) > 1 or self._is_of_the_terminal:
            return None
        return self._person, user_id

    @property
    def asks_back(self) -> bool:
        return self.answer is not None and self.answer.asks_back

    @property
    def icon(self) -> str:
        if self.asks_back:
            return "reply"
        if self.answer and self.answer.via == Answer.Via.TERMINAL:
            return "terminal"
        ended = self.question.why_ended
        if ended and ended["reason"] in (EndReason.NO_AGENT_WAITING, EndReason.ROOM_ARCHIVED):
            return "closed"
        return {
            "held": "clock",
            "answered": "check",
            "declined": "skip",
            "expired": "clock",
            "withdrawn": "undo",
        }["held" if self.question.is_held else self.question.status]

    @property
    def _ending(self) -> str:
        """How the question ended without a decision."""
        ended = self.question.why_ended
        match ended and ended["reason"]:
            case EndReason.DEADLINE:
                return gettext("Expired without an answer")
            case EndReason.NO_AGENT_WAITING:
                return gettext("Closed: no agent was waiting")
            case EndReason.ROOM_ARCHIVED:
                return gettext("Closed: the room was archived")
            case EndReason.PERSON if ended and ended["by"]:
                return gettext("Withdrawn by %(name)s") % ended["by"]
            case EndReason.PERSON:
                return gettext("Withdrawn by an admin")
            case EndReason.AGENT:
                return gettext("Withdrawn by the agent")
            case _:
                return ""

    @property
    def _answered_by(self) -> str:
        """Names the person, and the key if the answer came through one."""
        through = self.answer.through if self.answer else ""
        if not through:
            return self._decided_by(gettext("Answered by you"), gettext("Answered by %(name)s"))
        mine, theirs = (
            gettext("Answered by you through %(key)s"),
            gettext("Answered by %(name)s through %(key)s"),
        )
        return (mine if self.is_mine else theirs) % {"name": self._person, "key": through}

    def _decided_by(self, mine: str, theirs: str) -> str:
        return mine if self.is_mine else theirs % {"name": self._person}

    @property
    def _person(self) -> str:
        return self.answer.person_name if self.answer else ""

    @property
    def _is_of_the_terminal(self) -> bool:
        return self.answer is not None and self.answer.via == Answer.Via.TERMINAL


def answerer_of(question: Question) -> str | None:
    """The id of the person who answered, as text; during the undo window of the person who decided."""
    if question.is_held:
        return question.decided_by[-1]["user_id"]
    answer = question.answer_or_none
    return None if answer is None or answer.user_id is None else str(answer.user_id)
