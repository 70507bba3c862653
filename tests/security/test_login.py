"""Login throttling: five wrong passwords per user name and address, then a lock of a quarter of an hour."""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client

from bridge.login import GUESSES, PAUSE_SECONDS, client_address
from bridge.password_queue import HASHES_AT_ONCE, LONGEST_QUEUE, RETRY_SECONDS
from tests.harness.agents import Agent
from tests.harness.http import Reply
from tests.harness.nginx import NAME, PRODUCTION, Nginx, nginx_program
from tests.harness.people import Visitor
from tests.harness.sites import START_SECONDS, Site
from tests.harness.timing import eventually

PASSWORD = "correct horse battery staple"
LOGINS = ["/login/", "/admin/login/"]
# What a slow machine may add to a check of a password that takes a third of a second.
SAME_TIMING = 1.6


@pytest.fixture
def quick_check(settings: Any) -> None:
    """Most tests do not care how long it takes to check a password."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def ana(db: None, quick_check: None) -> Any:
    return get_user_model().objects.create_user("ana", password=PASSWORD, is_staff=True)


def sign_in(password: str, username: str = "ana", path: str = "/login/", **extra: Any) -> Any:
    """From a browser that has never been here."""
    return Client().post(path, {"username": username, "password": password}, **extra)


def guess_until_refused(username: str = "ana", path: str = "/login/") -> Any:
    for _ in range(GUESSES):
        assert sign_in("wrong", username, path).status_code == 200
    return sign_in("wrong", username, path)


def shown(response: Any) -> str:
    """The page without what is different every time."""
    return re.sub(r'value="\w{64}"', "", response.content.decode())


# ---- the limit -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOGINS)
def test_after_five_wrong_guesses_even_the_right_password_has_to_wait(ana: Any, path: str) -> None:
    refused = guess_until_refused(path=path)
    assert refused.status_code == 429
    assert refused["Retry-After"] == str(PAUSE_SECONDS) == "900"
    assert "no-store" in refused["Cache-Control"]
    assert 'class="ab-gate-box"' in refused.content.decode()
    assert sign_in(PASSWORD, path=path).status_code == 429


def test_both_forms_count_together(ana: Any) -> None:
    guess_until_refused(path="/login/")
    assert sign_in(PASSWORD, path="/admin/login/").status_code == 429


def test_four_wrong_guesses_cost_nothing(ana: Any) -> None:
    for _ in range(GUESSES - 1):
        sign_in("wrong")
    assert sign_in(PASSWORD).status_code == 302


def test_signing_in_gives_all_guesses_back(ana: Any) -> None:
    for _ in range(GUESSES - 1):
        sign_in("wrong")
    sign_in(PASSWORD)
    for _ in range(GUESSES - 1):
        assert sign_in("wrong").status_code == 200
    assert sign_in(PASSWORD).status_code == 302


def test_the_pause_ends_by_itself(ana: Any) -> None:
    guess_until_refused()
    let_pass(PAUSE_SECONDS - 60)
    assert sign_in(PASSWORD).status_code == 429
    let_pass(61)
    assert sign_in(PASSWORD).status_code == 302


def test_the_pause_is_counted_from_the_last_guess(ana: Any) -> None:
    for _ in range(GUESSES - 1):
        sign_in("wrong")
    let_pass(PAUSE_SECONDS - 60)
    sign_in("wrong")
    let_pass(61)
    assert sign_in(PASSWORD).status_code == 429


def test_trying_during_the_pause_does_not_prolong_it(ana: Any) -> None:
    guess_until_refused()
    let_pass(PAUSE_SECONDS - 60)
    sign_in("wrong")
    let_pass(61)
    assert sign_in(PASSWORD).status_code == 302


def let_pass(seconds: int) -> None:
    """As if what is in the cache had been put there earlier."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            change = "expires - make_interval(secs => %s)"
        else:
            change = "datetime(expires, '-' || %s || ' seconds')"
        cursor.execute(f"UPDATE bridge_cache SET expires = {change}", [seconds])  # noqa: S608


# ---- whom it hits ----------------------------------------------------------------------------------------


def test_other_names_and_other_addresses_are_let_in(ana: Any) -> None:
    get_user_model().objects.create_user("ben", password=PASSWORD)
    guess_until_refused()
    assert sign_in(PASSWORD, "ben").status_code == 302
    assert sign_in(PASSWORD, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_signed_in_people_stay_signed_in(ana: Any) -> None:
    client = Client()
    client.force_login(ana)
    guess_until_refused()
    assert client.get("/").status_code == 200


def test_spelling_a_name_in_other_letters_gives_no_further_guesses(ana: Any) -> None:
    guess_until_refused()
    assert sign_in(PASSWORD, "ａna").status_code == 429  # a wide a, which Django reads as the usual one


# ---- nothing is learnt from it ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", LOGINS)
def test_a_name_that_exists_looks_like_one_that_does_not(ana: Any, path: str) -> None:
    ben = get_user_model().objects.create_user("ben", password=PASSWORD, is_active=False, is_staff=True)
    names = ["ana", ben.username, "nobody"]
    first = [sign_in("wrong", name, path) for name in names]
    refused = [guess_until_refused_again(name, path) for name in names]
    for replies in (first, refused):
        assert len({reply.status_code for reply in replies}) == 1
        pages = {shown(reply).replace(name, "…") for reply, name in zip(replies, names, strict=True)}
        assert len(pages) == 1
        assert len({tuple(sorted(reply.headers)) for reply in replies}) == 1
    # The right password of an inactive account gives no hint either.
    assert sign_in(PASSWORD, "ben", path, REMOTE_ADDR="192.0.2.7").status_code == 200


def guess_until_refused_again(username: str, path: str) -> Any:
    for _ in range(GUESSES - 1):
        sign_in("wrong", username, path)
    return sign_in("wrong", username, path)


def test_it_takes_as_long_to_refuse_a_name_that_exists_as_one_that_does_not(db: None) -> None:
    get_user_model().objects.create_user("ana", password=PASSWORD)

    def seconds(username: str) -> float:
        started = time.process_time()
        sign_in("wrong", username)
        return time.process_time() - started

    # In turns: whatever else the machine does in that second meets both.
    guesses = [[seconds(name) for name in ("ana", "nobody")] for _ in range(GUESSES)]
    wrong = [min(taken) for taken in zip(*guesses, strict=True)]
    assert max(wrong) < SAME_TIMING * min(wrong)
    # Without a check of the password all are quick, so that guessing does not even keep us busy.
    refused = [min(seconds(name) for _ in range(GUESSES)) for name in ("ana", "nobody")]
    assert max(refused) < min(wrong) / 3


def test_neither_name_nor_password_nor_address_is_kept(ana: Any) -> None:
    sign_in("s3cret-guess", "my-pass-as-name", REMOTE_ADDR="192.0.2.7")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM bridge_cache")
        kept = repr(cursor.fetchall())
    assert "guess-" in kept
    for typed in ("s3cret-guess", "my-pass-as-name", "192.0.2.7"):
        assert typed not in kept


# ---- the address of the client ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("production", "forwarded", "expected"),
    [
        (False, "203.0.113.9", "192.0.2.1"),
        (True, "203.0.113.9", "203.0.113.9"),
        (True, "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        (True, "127.0.0.1,203.0.113.9", "203.0.113.9"),
        (True, "", "192.0.2.1"),
        (True, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (True, "2001:db8:1:2::1", "2001:db8:1:2::/64"),
        (True, "nonsense", "nonsense"),
    ],
)
def test_the_address_is_what_the_last_proxy_saw(
    rf: Any, settings: Any, production: bool, forwarded: str, expected: str
) -> None:
    settings.PRODUCTION = production
    request = rf.get("/", REMOTE_ADDR="192.0.2.1", headers={"X-Forwarded-For": forwarded})
    assert client_address(request) == expected


class Through(Visitor):
    """A browser behind an address of its own; this whole machine is 127.0.0.0/8."""

    def __init__(self, front: Nginx, address: str, **headers: str) -> None:
        super().__init__(front)  # type: ignore[arg-type] # speaks as a site
        self.front, self.address, self.forged = front, address, headers
        self.site = self  # type: ignore[assignment]

    def connect(self) -> HTTPSConnection:
        return HTTPSConnection(
            NAME,
            self.front.port,
            timeout=START_SECONDS,
            context=self.front.trust,
            source_address=(self.address, 0),
        )

    request = Site.request

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return super()._headers({"Referer": f"https://{NAME}/", **self.forged, **headers})

    def sign_in(self, password: str) -> int:
        return self.post("/login/", {"username": "admin", "password": password}).status


@pytest.fixture
def front(serve: Callable[..., Site], tmp_path: Path) -> Iterator[tuple[Nginx, str]]:
    """Our nginx before a process in production settings, and its admin's password."""
    nginx_program()  # before anything is started in vain
    site = serve(**PRODUCTION)
    running = Nginx(tmp_path / "nginx", [site.port], tmp_path / "data" / "static")
    yield running, re.findall(r"Password +(\S+)", site.printed)[0]
    running.end()


def test_behind_our_nginx_one_guesser_locks_out_no_one_else(front: tuple[Nginx, str]) -> None:
    nginx, password = front
    guesser = Through(nginx, "127.0.0.5")
    assert [guesser.sign_in("wrong") for _ in range(GUESSES + 1)] == [200] * GUESSES + [429]
    forged = {"X_Forwarded_For": "127.0.0.9", "X_Real_IP": "127.0.0.9", "Forwarded": "for=127.0.0.9"}
    assert Through(nginx, "127.0.0.5", **forged).sign_in(password) == 429
    assert Through(nginx, "127.0.0.6").sign_in(password) == 302


def test_behind_our_nginx_one_address_sends_a_few_passwords_at_once(front: tuple[Nginx, str]) -> None:
    nginx, password = front
    guesser = Through(nginx, "127.0.0.5")
    while (refused := guesser.post("/login/", {"username": "admin", "password": "wrong"})).status != 429:
        pass
    # First by the site, which has counted five; then by nginx.
    while not refused.headers["Content-Type"].startswith("text/plain"):
        refused = guesser.post("/login/", {"username": "admin", "password": "wrong"})
    assert refused.status == 429
    assert int(refused.headers["Retry-After"]) > 0
    assert "was not checked" in refused.text
    assert guesser.get("/login/").status == 200
    assert Through(nginx, "127.0.0.6").sign_in(password) == 302


# ---- many at once ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("migrated")
@pytest.mark.parametrize("kind", ["embedded", "scaled"])
def test_of_fifty_guesses_at_once_five_are_looked_at(
    kind: str, serve: Callable[..., Site], request: pytest.FixtureRequest
) -> None:
    urls = request.getfixturevalue("postgres_and_redis") if kind == "scaled" else {}
    sites = [serve(**urls) for _ in range(2 if kind == "scaled" else 1)]
    password = re.findall(r"Password +(\S+)", sites[0].printed)[0]
    visitors = [Visitor(sites[number % len(sites)]) for number in range(50)]
    for visitor in visitors:
        visitor.get("/login/")

    def guess(visitor: Visitor) -> int:
        return visitor.post("/login/", {"username": "admin", "password": "wrong"}).status

    with ThreadPoolExecutor(len(visitors)) as pool:
        assert Counter(pool.map(guess, visitors)) == {200: GUESSES, 429: 50 - GUESSES}
    for visitor in visitors[:2]:
        assert visitor.post("/login/", {"username": "admin", "password": password}).status == 429
    for site in sites:
        assert site.request("GET", "/healthz").status == 200
        assert site.stop() == (0, "")


@pytest.mark.usefixtures("migrated")
def test_an_ask_does_not_wait_for_a_hundred_made_up_logins(serve: Callable[..., Site]) -> None:
    site = serve()
    agent = Agent(site, "lobby", re.findall(r"KEY=(\S+)", site.printed)[0])
    visitors = [Visitor(site) for _ in range(98)]
    for visitor in visitors:
        visitor.get("/login/")
    replies: list[Reply] = []

    def sign_in_as_made_up(number: int) -> None:
        fields = {"username": f"made-up-{number}", "password": "wrong"}
        replies.append(visitors[number].post("/login/", fields))

    def checked() -> int:
        return sum(reply.status == 200 for reply in list(replies))

    with ThreadPoolExecutor(len(visitors)) as pool:
        for number in range(len(visitors)):
            pool.submit(sign_in_as_made_up, number)
        eventually(lambda: replies, START_SECONDS)
        agent.ask()
        # In the same threads an ask would come after all but the last few of them.
        assert checked() < len(visitors) / 2
    assert Counter(reply.status for reply in replies).keys() == {200, 429}
    assert checked() >= HASHES_AT_ONCE + LONGEST_QUEUE
    refused = [reply for reply in replies if reply.status == 429]
    assert {reply.headers["Retry-After"] for reply in refused} == {str(RETRY_SECONDS)}
    # Nothing in them depends on the name, which is not looked at.
    assert len({reply.text for reply in refused}) == 1
    assert 'class="ab-gate-box"' in refused[0].text
    assert site.stop() == (0, "")
