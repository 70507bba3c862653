"""The database of the first version, with something of everything in it; runs inside `manage.py shell`.

Written as that version would have: with the models of its schema, and the JSON and hashes that it kept. What
stands here stays as it is, whatever becomes of the models.
"""

from datetime import timedelta
from typing import Any

from django.apps.registry import Apps
from django.contrib.auth.hashers import make_password
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from django.utils.crypto import salted_hmac

PROMPT = {
    "question": "Which database?",
    "header": "Database",
    "multiSelect": False,
    "options": [
        {"label": "PostgreSQL", "description": "Grows with you", "preview": ""},
        {"label": "SQLite", "description": "", "preview": "one file"},
    ],
}
CHOICE = {
    "question": "Which database?",
    "header": "Database",
    "selectedOptions": ["SQLite"],
    "customInput": None,
    "notes": None,
}
# name: (status, fields of its answer, who gave it)
QUESTIONS: dict[str, tuple[str, dict[str, Any] | None, str | None]] = {
    "open": ("open", None, None),
    "left to answer": ("open", None, None),
    "answered": ("answered", {"via": "web", "choices": [CHOICE]}, "ana"),
    "terminal": ("answered", {"via": "terminal", "choices": [CHOICE]}, None),
    "declined": ("declined", {"via": "web", "reason": "Not now"}, "ben"),
    "expired": ("expired", None, None),
    "default": ("expired", {"via": "default", "choices": [CHOICE]}, None),
    "withdrawn": ("withdrawn", None, None),
}


def first_models() -> Apps:
    first = [("ask_bridge", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    return MigrationExecutor(connection).loader.project_state(first).apps


def fill(password: str) -> dict[str, Any]:
    """Rooms, members, keys, questions in every state, answers, messages: the keys and the questions' ids."""
    models = first_models()
    people = {
        name: models.get_model("auth.User").objects.create(
            username=name, first_name=name.title(), password=make_password(password)
        )
        for name in ("ana", "ben")
    }
    Room = models.get_model("ask_bridge.Room")
    lobby = Room.objects.create(slug="lobby", name="Lobby", is_open=True, revision=20)
    team = Room.objects.create(slug="team", name="Team", revision=1)
    Room.objects.create(slug="old", name="Old", is_open=True, archived_at=timezone.now())
    models.get_model("ask_bridge.Membership").objects.create(room=team, user=people["ana"], role="manager")
    keys = {
        "lobby": _make_key(models, lobby, "0" * 10),
        "team": _make_key(models, team, "1" * 10),
        "revoked": _make_key(models, lobby, "2" * 10, revoked_at=timezone.now()),
    }
    ids = {
        name: _make_question(models, lobby, name, position, people)
        for position, name in enumerate(QUESTIONS, start=1)
    }
    say = models.get_model("ask_bridge.Message").objects.create
    say(room=lobby, sender="first-agent", sender_type="agent", content="From an agent", position=19)
    say(
        room=lobby,
        user=people["ana"],
        sender="Ana",
        sender_type="human",
        content="From Ana",
        position=20,
    )
    say(room=team, sender="first-agent", sender_type="agent", kind="log", content="A log", position=1)
    return {"keys": keys, "ids": ids}


def _make_key(models: Apps, room: Any, lookup: str, **fields: Any) -> str:
    secret = "s" * 40
    digest = salted_hmac("ask_bridge.agent_key", secret, algorithm="sha256").hexdigest()
    models.get_model("ask_bridge.AgentKey").objects.create(
        room=room, label="agent", lookup=lookup, digest=digest, **fields
    )
    return f"abk_{lookup}_{secret}"


def _make_question(models: Apps, room: Any, name: str, position: int, people: dict[str, Any]) -> str:
    status, answer, username = QUESTIONS[name]
    now = timezone.now()
    settled_at = None if status == "open" else now
    question = models.get_model("ask_bridge.Question").objects.create(
        room=room,
        key=room.keys.get(lookup="0" * 10),
        agent_name="first-agent",
        agent_color="#818cf8",
        session_id="s1",
        tool_use_id=name,
        idempotency_hash=name,
        body_hash="b",
        prompts=[PROMPT],
        context={"text": "As it was.", "branch": "main"},
        default_choices=[CHOICE] if name == "default" else None,
        status=status,
        asked_at=now - timedelta(minutes=5),
        settled_at=settled_at,
        delivered_at=settled_at if name == "terminal" else None,
        position=position,
        settled_position=settled_at and position,
        revision=position,
    )
    if answer:
        models.get_model("ask_bridge.Answer").objects.create(
            question=question,
            room=room,
            position=position,
            user=people.get(username),
            username=username or "",
            person_name=(username or "").title(),
            **answer,
        )
    return question.pk


def read_first_columns() -> dict[str, list[list[str]]]:
    """Every value of the first schema by SQL: no model of any version stands between."""
    rows = {}
    with connection.cursor() as cursor:
        for model in first_models().get_app_config("ask_bridge").get_models():
            columns = ", ".join(field.column for field in model._meta.local_concrete_fields)
            cursor.execute(f"SELECT {columns} FROM {model._meta.db_table} ORDER BY 1")  # noqa: S608
            rows[model.__name__] = [[str(value) for value in row] for row in cursor.fetchall()]
    return rows
