"""What people do on a card beyond choosing one label."""

from typing import Any
from urllib.parse import urlencode

from tests.actors import Person


def submit(person: Person, question: Any, *fields: tuple[str, str]) -> None:
    """Send a card's form with these fields, the same name several times where boxes are ticked."""
    form = person.form_of(question)
    token = ("csrfmiddlewaretoken", person.cookies["csrftoken"])
    reply = person.site.request(
        "POST",
        form["action"],
        body=urlencode([token, *fields]),
        headers={
            "Cookie": "; ".join(f"{name}={value}" for name, value in person.cookies.items()),
            "Content-Type": "application/x-www-form-urlencoded",
        },
    )
    assert reply.status == 303, reply.text


def skip(person: Person, question: Any, reason: str = "") -> None:
    """Decline a question."""
    path = f"/rooms/{question['room']}/questions/{question['id']}/skip"
    assert person.post(path, {"reason": reason}).status == 303
