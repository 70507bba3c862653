"""Tabs of signed-in people: each sends forms over one open connection, faster than a browser."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from tests.harness.http import Reply
from tests.harness.people import Person
from tests.harness.sites import Site


class Tab:
    """Sends the form of a card, with htmx or without, over a connection that stays open."""

    def __init__(self, person: Person, site: Site, *, has_htmx: bool = False) -> None:
        self.person = person
        self._connection = site.connect()
        cookies = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
        self._headers = {"Cookie": cookies, "Content-Type": "application/x-www-form-urlencoded"}
        if has_htmx:
            self._headers["HX-Request"] = "true"

    def answer(self, question: Any, option: int) -> Reply:
        """What the site says to a click on this option of a question with one prompt."""
        path = f"/rooms/{question['room']}/questions/{question['id']}/answer"
        fields = {"csrfmiddlewaretoken": self.person.cookies["csrftoken"], "choice-0": str(option)}
        self._connection.request("POST", path, body=urlencode(fields), headers=self._headers)
        response = self._connection.getresponse()
        return Reply(response.status, response.headers, response.read().decode())

    def close(self) -> None:
        self._connection.close()


@contextmanager
def open_tabs(sites: list[Site], people: list[Person], count: int) -> Iterator[list[Tab]]:
    """So many tabs, spread over people and processes; each person has some with htmx and some without."""
    tabs = [
        Tab(people[number % len(people)], sites[number % len(sites)], has_htmx=number // len(people) % 5 > 0)
        for number in range(count)
    ]
    try:
        yield tabs
    finally:
        for tab in tabs:
            tab.close()
