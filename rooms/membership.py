"""Membership: who belongs to a room, by a row of their own or through a Django group, and in which role.

Conditions for queries, and compiled statements for what each click needs. The higher role counts. A user
model without groups, or with groups of another model than GROUP_MODEL, has only rows of its own.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Count, Q, QuerySet, Value

from rooms.db.compiled import Select, key_of
from rooms.db.transactions import in_batches
from rooms.models import GroupMembership, Membership, Room

Role = Membership.Role


class Belonging(NamedTuple):
    """The table that says who is in which group, with its two columns."""

    table: QuerySet[Any]
    person: str
    group: str


def group_model() -> Any:
    """The model of GROUP_MODEL."""
    return GroupMembership._meta.get_field("group").related_model


def belonging() -> Belonging | None:
    """Who is in which group; None where the user model has no such groups."""
    try:
        field: Any = get_user_model()._meta.get_field("groups")
    except FieldDoesNotExist:
        return None
    if not field.many_to_many or field.related_model is not group_model():
        return None
    through = field.remote_field.through._default_manager.all()
    return Belonging(through, field.m2m_field_name(), field.m2m_reverse_field_name())


def of_groups(user: Any) -> QuerySet[GroupMembership]:
    """The memberships of the groups of this person, given by primary key."""
    found = belonging()
    if found is None:
        return GroupMembership.objects.none()
    own = found.table.filter(**{found.person: user})
    return GroupMembership.objects.filter(group__in=own.values(found.group))


def people_of(groups: Any) -> QuerySet[Any] | None:
    """The primary keys of the people of these groups; None where the user model has no groups."""
    found = belonging()
    if found is None:
        return None
    return found.table.filter(**{f"{found.group}__in": groups}).values(found.person)


def people_per_group(groups: Collection[Any]) -> dict[Any, int]:
    """How many people each of these groups has, by primary key, in one query."""
    found = belonging()
    if found is None or not groups:
        return {}
    rows = found.table.filter(**{f"{found.group}__in": groups}).order_by().values_list(found.group)
    return dict(rows.annotate(Count("pk")))


# ---- conditions ------------------------------------------------------------------------------------------


def members_of(room: Any, *roles: str) -> Q:
    """A condition on users: they belong to this room, in one of these roles if any are given."""
    in_role = {"role__in": roles} if roles else {}
    condition = Q(pk__in=Membership.objects.filter(room=room, **in_role).values("user"))
    groups = GroupMembership.objects.filter(room=room, **in_role).values("group")
    if (people := people_of(groups)) is not None:
        condition |= Q(pk__in=people)
    return condition


def people_in(room: Room, names: Collection[str]) -> Q:
    """A condition on users: they are in a group of one of these names, which belongs to this room."""
    found = GroupMembership.objects.filter(room=room, group__name__in=names)
    # MariaDB also finds names in other case, which `is_in_group` would not take for the same.
    people = people_of([group for group, name in found.values_list("group", "group__name") if name in names])
    return Q(pk__in=[]) if people is None else Q(pk__in=people)


def people(room: Room, *roles: str) -> QuerySet[Any]:
    """The people of this room, in one of these roles if any are given."""
    return get_user_model()._default_manager.filter(members_of(room, *roles))


# ---- one person and one room -----------------------------------------------------------------------------

# Most people have a row of their own: then there is no second query.
OWN_ROLE = Select(lambda room, user: Membership.objects.filter(room=room, user=user).values_list("role"))
GROUP_ROLES = Select(lambda room, user: of_groups(user).filter(room=room).values_list("role", "group__name"))


def is_member(room: Room, user: Any) -> bool:
    """Whether this person belongs to the room, in any role."""
    asked = {"room": room.pk, "user": key_of(user)}
    if OWN_ROLE.first(**asked) is not None:
        return True
    return belonging() is not None and GROUP_ROLES.first(**asked) is not None


def is_manager(room: Room, user: Any) -> bool:
    """Whether this person, or one of their groups, manages the room."""
    asked = {"room": room.pk, "user": key_of(user)}
    if OWN_ROLE.first(**asked) == (Role.MANAGER,):
        return True
    return belonging() is not None and any(role == Role.MANAGER for role, _ in GROUP_ROLES.all(**asked))


def is_in_group(room: Room, name: str, user: Any) -> bool:
    """Whether this person is in the group of this name, which belongs to the room."""
    if belonging() is None:
        return False
    return any(group == name for _, group in GROUP_ROLES.all(room=room.pk, user=key_of(user)))


# ---- many rooms or people --------------------------------------------------------------------------------


class Roles(NamedTuple):
    """All that one person is in any room."""

    member_of: frozenset[int]
    manages: frozenset[int]
    # The groups of the person that belong to a room, by room and name.
    groups: frozenset[tuple[int, str]]


def _all_roles(user: Any) -> QuerySet[Any, tuple[int, str, str]]:
    own = Membership.objects.filter(user=user).values_list("room_id", "role", Value(""))
    if belonging() is None:
        return own
    return own.union(of_groups(user).values_list("room_id", "role", "group__name"), all=True)


# Every page and stream needs it.
ALL_ROLES = Select(_all_roles)


def roles_of(user: Any) -> Roles:
    """The rooms of this person by role, in one query."""
    return _as_roles(ALL_ROLES.all(user=key_of(user)))


def _as_roles(rows: Collection[tuple[int, str, str]]) -> Roles:
    return Roles(
        frozenset(room_id for room_id, _, _ in rows),
        frozenset(room_id for room_id, role, _ in rows if role == Role.MANAGER),
        frozenset((room_id, group) for room_id, _, group in rows if group),
    )


def roles_of_all(user_ids: Sequence[Any]) -> dict[Any, Roles]:
    """The same for many people, in three queries for each batch."""
    rows: dict[Any, list[tuple[int, str, str]]] = {user_id: [] for user_id in user_ids}
    for batch in in_batches(user_ids):
        own = Membership.objects.filter(user__in=batch)
        for user_id, room_id, role in own.values_list("user_id", "room_id", "role"):
            rows[user_id].append((room_id, role, ""))
        for user_id, row in _group_rows(batch):
            rows[user_id].append(row)
    return {user_id: _as_roles(own) for user_id, own in rows.items()}


def _group_rows(user_ids: Collection[Any]) -> Iterable[tuple[Any, tuple[int, str, str]]]:
    """The rooms of the groups of these people, with role and group."""
    found = belonging()
    if found is None:
        return
    rooms: dict[Any, list[tuple[int, str, str]]] = {}
    known = GroupMembership.objects.values_list("group_id", "room_id", "role", "group__name")
    for group_id, room_id, role, name in known:
        rooms.setdefault(group_id, []).append((room_id, role, name))
    if rooms:
        inside = found.table.filter(**{f"{found.group}__in": rooms, f"{found.person}__in": user_ids})
        for user_id, group_id in inside.values_list(found.person, found.group):
            yield from ((user_id, row) for row in rooms[group_id])


def pairs_among(rooms: Collection[Room], people: Collection[Any]) -> Iterable[tuple[int, Any]]:
    """Which of these people belong to which of these rooms, as pairs of primary keys."""
    members = Membership.objects.filter(user__in=people, room__in=rooms)
    yield from members.values_list("room_id", "user_id")
    found = belonging()
    if found is None:
        return
    groups: dict[Any, list[int]] = {}
    for room_id, group_id in GroupMembership.objects.filter(room__in=rooms).values_list(
        "room_id", "group_id"
    ):
        groups.setdefault(group_id, []).append(room_id)
    if groups:
        inside = found.table.filter(**{f"{found.group}__in": groups, f"{found.person}__in": people})
        for group_id, user_id in inside.values_list(found.group, found.person):
            yield from ((room_id, user_id) for room_id in groups[group_id])
