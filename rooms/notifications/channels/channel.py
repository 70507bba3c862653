"""The interface of a notification channel, and the recipients that it names.

The planner asks every channel for its recipients and creates one `Notice` for each; the outbox asks the
channel of a due notice how to send it. Neither knows a channel by name.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from django.db.models import Q
from django.utils.translation import gettext_noop

from rooms.models import Notice, Question, Room
from rooms.models.notifications import Receiver
from rooms.notifications.content import Content

People = Mapping[Any, Any]  # users by primary key

NO_RECEIVER = gettext_noop("The receiver was removed.")


@dataclass(frozen=True)
class Recipient:
    """A device, a mail address or a webhook, as the planner needs it."""

    channel: str
    key: Any
    # What a notice to it stores beside its target: foreign keys of `Notice`.
    fields: Mapping[str, Any] = field(default_factory=dict)
    # The user whose notification rules apply; None if it belongs to a room.
    user_id: Any = None
    # It gets no notices of questions that were asked before this time.
    created_at: datetime | None = None
    # Time between the ask and the notice; only without a user, because people have rules for it.
    delay_minutes: int = 0

    def notice(self, kind: Notice.Kind, question: Question | None, due_at: datetime) -> Notice:
        """An unsaved row of the outbox."""
        return Notice(
            kind=kind,
            question=question,
            channel=self.channel,
            target=f"{self.channel}:{self.key}",
            due_at=due_at,
            next_attempt_at=due_at,
            **self.fields,
        )


class Channel(ABC):
    """A way to send notices; used directly by channels that belong to rooms, such as webhooks."""

    # Stored in `Notice.channel`, at most ten characters.
    name: ClassVar[str]
    # The foreign key of `Notice` to the channel's `Receiver`, which counts failures and pauses; "" for none.
    receiver_field: ClassVar[str] = ""
    # What `send_later` reads beside the question and the user: names for `select_related`.
    related: ClassVar[tuple[str, ...]] = ()
    # Whether a receiver that answers "gone" is deleted.
    deletes_gone_receivers: ClassVar[bool] = False

    @abstractmethod
    def recipients(self, room: Room, people: People) -> Iterable[Recipient]:
        """All recipients of notices about questions in this room; `people` are users who may want some."""

    @abstractmethod
    def send_later(self, notice: Notice, content: Content) -> Callable[[], None]:
        """Render everything now; the returned function only sends.

        It runs in a thread without a database and raises `safe_http.Refused` (final) or
        `safe_http.Unreachable` (retried).
        """

    @abstractmethod
    def has_recipient(self, notice: Notice) -> bool:
        """Whether there is still a recipient to send this to."""

    @abstractmethod
    def success_text(self, tests: Sequence[Notice]) -> str:
        """What a page shows after these test notifications were sent."""

    def recipient_of_outcome(self, notice: Notice) -> Recipient | None:
        """The recipient of a notice that the question is settled, after this one was sent; or None."""
        return None

    def recipients_of_outcomes_only(self, room: Room) -> Iterable[Recipient]:
        """Recipients that get notices when questions are settled, but not when they are asked."""
        return ()

    def wants_outcomes_only(self, notice: Notice) -> bool:
        """Whether the recipient of this notice is one of `recipients_of_outcomes_only`."""
        return False

    def same_host(self, notice: Notice) -> Q:
        """Notices that go to the same server. By default all of the channel do: there is one mail server."""
        return Q(channel=self.name)

    def receiver_of(self, notice: Notice) -> Receiver | None:
        return getattr(notice, self.receiver_field) if self.receiver_field else None

    def receiver_name(self, notice: Notice) -> str:
        """Shown before the error of a test that goes to several receivers at once."""
        return ""

    def fields_after_success(self, now: datetime) -> dict[str, Any]:
        """What else to update in the receiver."""
        return {}


class PersonalChannel(Channel):
    """A channel that belongs to people: they choose its delay, and it respects quiet hours and presence."""

    # Shown to a person who sends a test without having a recipient; evaluated per request.
    @abstractmethod
    def no_recipient_text(self) -> str: ...

    @abstractmethod
    def users_who_may_want(self, room: Any) -> Q:
        """A condition on users that avoids reading all members; the rules decide exactly."""

    @abstractmethod
    def recipients_of(self, people: People) -> Iterable[Recipient]:
        """The devices or addresses of these people."""

    def recipients(self, room: Room, people: People) -> Iterable[Recipient]:
        return self.recipients_of(people)
