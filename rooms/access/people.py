"""Access of people: what they may see and do, by login and membership."""

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user, get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import Http404, HttpRequest
from django.utils.translation import gettext

from rooms import membership
from rooms.access import rate_limits
from rooms.access.exceptions import MayNotAnswer
from rooms.contract.care import Care, care_of, combined, group_in, names_group
from rooms.contract.types import FieldError, InvalidPayload
from rooms.db.compiled import Select
from rooms.lifecycle import Person, name_of
from rooms.models import (
    AgentKey,
    Answer,
    Message,
    Question,
    Room,
    RoomQuerySet,
)
from rooms.permissions import permissions

# A bound for the query. A room has a few managers; pages name three and count the others.
MOST_MANAGERS = 100
QUESTION = Select(lambda id: Question.objects.with_answer().filter(pk=id))


def visible_rooms(user: Person) -> RoomQuerySet:
    """The rooms that this person may see."""
    if not user.is_authenticated or not user.is_active:
        return Room.objects.none()
    return permissions().visible_rooms(user, Room.objects.active())


def may_see(user: Person, room: Room) -> bool:
    """Whether this is one of the `visible_rooms`."""
    if not user.is_authenticated or not user.is_active or room.archived_at:
        return False
    return permissions().may_see(user, room)


def room_for(user: Person, slug: str) -> Room:
    """The room, or 404 as if it did not exist."""
    # A slug in a query string may have a zero byte, which PostgreSQL refuses.
    room = None if "\x00" in slug else visible_rooms(user).filter(slug=slug).first()
    if room is None:
        raise Http404("There is no such room.")
    return room


def question_for(user: Person, slug: str, question_id: str) -> Question:
    """The question in that room, or 404 as if it did not exist."""
    question = QUESTION.first(id=question_id)
    # MariaDB may find it by an id in capitals, which no open connection is registered for.
    if question is None or question.pk != question_id or question.room.slug != slug:
        raise Http404("There is no such question.")
    if not may_see(user, question.room):
        raise Http404("There is no such question.")
    return question


def check_named(room: Room, care: Care | None) -> None:
    """Raise InvalidPayload if this names a person who cannot answer in the room."""
    people = care.people if care else []
    if care and people:
        users = get_user_model()._default_manager.all()
        if name := _first_who_cannot_answer(room, people, users):
            sentence = gettext(
                "“%(name)s” cannot answer in this room; give the user name of a person who can"
            )
            raise InvalidPayload([FieldError(field="care", message=sentence % {"name": name})])
        _check_enough_voters(room, care)


def check_named_by_key(key: AgentKey, care: Care | None) -> None:
    """Like `check_named`, for an agent, which can only name members and people of the room's timeline.

    All other names are refused in the same way and with the same queries, whether there is an account or not.
    Otherwise a key of an open room could find out all user names of the site.
    """
    people = care.people if care else []
    if not care or not people:
        return
    rate_limits.check_refused_names(key)
    users = get_user_model()._default_manager.all()
    if permissions().knows_by_membership:
        users = users.filter(_is_known_in(key.room))
    if name := _first_who_cannot_answer(key.room, people, users):
        rate_limits.note_refused_name(key)
        message = (
            f'"{name}" cannot be named here; give the user name of a member of this room, '
            "or of a person who has answered or written in it"
        )
        raise InvalidPayload([FieldError(field="care", message=message)])
    _check_enough_voters(key.room, combined(care_of(key.room.care), care))


def _check_enough_voters(room: Room, care: Care | None) -> None:
    """Raise InvalidPayload if the people and groups that may vote have too few people."""
    if not care or not care.votes or not names_group(care.votes.of):
        return
    groups = [group for name in care.votes.of if (group := group_in(name)) is not None]
    users = get_user_model()._default_manager
    named = Q(**{f"{users.model.USERNAME_FIELD}__in": care.votes.of})
    count = users.filter(named | membership.people_in(room, groups)).count()
    if count < care.votes.needed:
        message = f"names {count} people, but {care.votes.needed} votes are needed"
        raise InvalidPayload([FieldError(field="care", message=message)])


def _is_known_in(room: Room) -> Q:
    """Members, and people who have answered or written in the room."""
    return (
        membership.members_of(room)
        | Exists(Answer.objects.filter(room=room, user=OuterRef("pk")))
        | Exists(Message.objects.filter(room=room, user=OuterRef("pk")))
    )


def _first_who_cannot_answer(room: Room, people: list[str], users: QuerySet[Any]) -> str | None:
    by_name = {f"{users.model.USERNAME_FIELD}__in": people}
    found = {user.get_username(): user for user in users.filter(**by_name)}
    for name in people:
        group = group_in(name)
        if group is not None:
            if not get_user_model()._default_manager.filter(membership.people_in(room, [group])).exists():
                return name
            continue
        user = found.get(name)
        if user is None or not may_see(user, room) or not permissions().may_answer(user, room):
            return name
    return None


def person_to_answer_for(room: Room, username: str) -> AbstractBaseUser:
    """The person with this user name; InvalidPayload if they cannot answer in the room, or do not exist."""
    users = get_user_model()._default_manager
    user = users.filter(**{users.model.USERNAME_FIELD: username}).first()
    if user is None or not may_see(user, room) or not permissions().may_answer(user, room):
        message = "is not a person who can answer in this room; give the user name of one who can"
        raise InvalidPayload([FieldError(field="by", message=message)])
    return user


def check_may_answer(user: Person, room: Room) -> None:
    """Raise MayNotAnswer if this person may only see the room."""
    if not may_answer(user, room):
        raise MayNotAnswer


def may_answer(user: Person, room: Room) -> bool:
    """Whether this person may decide and write in a room that they see."""
    return user.is_authenticated and permissions().may_answer(user, room)


def may_manage(user: Person, room: Room) -> bool:
    """Whether this person may create and revoke the room's keys."""
    return user.is_authenticated and permissions().may_manage(user, room)


def manager_names(room: Room) -> list[str]:
    """The names of the room's managers, sorted."""
    managers = permissions().managers(room)[:MOST_MANAGERS]
    return sorted((name_of(user) for user in managers if user.is_active), key=str.casefold)


def user_of_session(session_key: str | None) -> Person:
    """The signed-in user of a session cookie, found as Django's own middleware does."""
    request = HttpRequest()
    engine = import_module(settings.SESSION_ENGINE)
    request.session = engine.SessionStore(session_key)
    return get_user(request)


def named_users(usernames: list[str]) -> list[AbstractBaseUser]:
    """The users with these user names; LookupError with the first name that has no account."""
    users = get_user_model()
    found: list[AbstractBaseUser] = []
    for username in usernames:
        try:
            found.append(users._default_manager.get_by_natural_key(username))
        except users.DoesNotExist as missing:
            raise LookupError(username) from missing
    return found
