"""Every setting comes from the environment, and a wrong one is told in one sentence."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.sites import ROOT

Manage = Callable[..., subprocess.CompletedProcess[str]]

WRONG = {
    "port in words": {"PORT": "abc"},
    "port too high": {"PORT": "70000"},
    "unclear production": {"PRODUCTION": "yes"},
    "unknown language": {"LANGUAGE_CODE": "tlh"},
    "unknown time zone": {"TIME_ZONE": "Mars/Olympus"},
    "no database url": {"DATABASE_URL": "nonsense"},
    "foreign database": {"DATABASE_URL": "oracle://root:hunter2@db/ask"},
    "port of database in words": {"DATABASE_URL": "postgres://root:hunter2@db:x/ask"},
    "bare slash in password of MariaDB": {"DATABASE_URL": "mysql://root:12/hunter2@db/ask"},
    "bare slash in password": {"DATABASE_URL": "postgres://root:12/hunter2@db/ask"},
    "database in memory": {"DATABASE_URL": "sqlite://:memory:"},
    "unknown form of the log": {"LOG_FORMAT": "xml"},
    "no redis": {"REDIS_URL": "http://x"},
    "redis without host": {"REDIS_URL": "redis://"},
    "port of redis in words": {"REDIS_URL": "redis://root:hunter2@redis:x"},
    "option of redis in words": {"REDIS_URL": "redis://root:hunter2@redis?max_connections=many"},
    "origin with a path": {"ORIGIN": "https://root:hunter2@ask.example.org/here"},
    "origin without a scheme": {"ORIGIN": "ask.example.org"},
    "no mail server": {"EMAIL_URL": "https://root:hunter2@mail"},
    "port of mail server in words": {"EMAIL_URL": "smtp://root:hunter2@mail:x"},
    "short key for push": {"VAPID_PRIVATE_KEY": "hunter2"},
    "networks in words": {"WEBHOOK_ALLOWED_NETWORKS": "10.0.0.0/8, ours"},
    "networks for push in words": {"PUSH_ALLOWED_NETWORKS": "ours"},
    "data folder below a file": {"DATA_DIR": str(ROOT / "manage.py" / "data")},
    "new passwords without a mail server": {"PASSWORD_RESET": "1"},
    "a provider without TLS": {"OIDC_ISSUER": "http://ana:hunter2@login.example.org"},
    "a provider without a client": {"OIDC_ISSUER": "https://login.example.org"},
}


@pytest.mark.parametrize("command", ["serve", "migrate", "check"])
@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_value_is_named_in_one_sentence(manage: Manage, command: str, wrong: dict[str, str]) -> None:
    done = manage(command, **wrong)
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert next(iter(wrong)) in done.stderr
    assert "hunter2" not in done.stderr


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({"ALLOWED_HOSTS": "ask.example.org"}, "SECRET_KEY"),
        ({"SECRET_KEY": "x" * 50}, "ALLOWED_HOSTS"),
    ],
)
def test_production_requires_secret_and_hosts(manage: Manage, given: dict[str, str], missing: str) -> None:
    done = manage("check", PRODUCTION="1", **given)
    assert done.returncode != 0
    assert done.stderr.startswith(f"Error: PRODUCTION=1 needs {missing}")
    assert done.stderr.count("\n") == 1


def test_earlier_secret_keys_are_read_and_short_ones_refused(manage: Manage) -> None:
    good = {"PRODUCTION": "1", "SECRET_KEY": "n" * 50, "ALLOWED_HOSTS": "ask.example.org"}
    show = "from django.conf import settings; print(settings.SECRET_KEY_FALLBACKS == ['o' * 40, 'p' * 40])"
    done = manage("shell", "-v0", "-c", show, SECRET_KEY_FALLBACKS=f"{'o' * 40}, {'p' * 40}", **good)
    assert done.stdout.strip() == "True", done.stderr
    done = manage("check", SECRET_KEY_FALLBACKS="hunter2", **good)
    assert done.returncode != 0
    assert "SECRET_KEY_FALLBACKS" in done.stderr
    assert "hunter2" not in done.stderr


def test_production_passes_the_deployment_checks(manage: Manage) -> None:
    done = manage(
        "check",
        "--deploy",
        PRODUCTION="1",
        SECRET_KEY="".join(chr(33 + n % 60) for n in range(80)),
        ALLOWED_HOSTS="ask.example.org",
    )
    assert done.returncode == 0
    ids = set(re.findall(r"security\.W\d+", done.stderr))
    # HSTS for subdomains and preloading is for the owner of the domain to decide.
    assert ids <= {"security.W005", "security.W021"}


@pytest.mark.parametrize(("name", "length"), [("secret-key", 67), ("vapid-key", 43)])
def test_keys_are_made_once_and_are_private(manage: Manage, tmp_path: Path, name: str, length: int) -> None:
    key = tmp_path / "data" / name
    assert manage("check").returncode == 0
    made = key.read_text()
    assert len(made) == length
    assert key.stat().st_mode & 0o777 == 0o600
    assert manage("check").returncode == 0
    assert key.read_text() == made


def test_processes_that_start_together_agree_on_the_secret_key(environment: dict[str, str]) -> None:
    show = "from bridge.settings import SECRET_KEY; print(SECRET_KEY)"
    starting = [
        subprocess.Popen([sys.executable, "-c", show], cwd=ROOT, env=environment, stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    assert len({process.communicate()[0] for process in starting}) == 1


def test_the_two_urls_choose_postgres_and_redis(environment: dict[str, str]) -> None:
    show = (
        "import json; from bridge.settings import *; "
        "print(json.dumps([DATABASES['default'], CHANNEL_LAYERS['default']]))"
    )
    urls = {
        "DATABASE_URL": "postgres://ana:p%40ss@db:5433/ask?sslmode=require",
        "REDIS_URL": "redis://r:6380/2",
    }
    shown = subprocess.run(
        [sys.executable, "-c", show],
        cwd=ROOT,
        env=environment | urls,
        capture_output=True,
        check=True,
    )
    database, layer = json.loads(shown.stdout)
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["HOST"], database["PORT"], database["PASSWORD"]) == ("db", 5433, "p@ss")
    assert database["OPTIONS"]["sslmode"] == "require"
    assert (database["CONN_MAX_AGE"], database["CONN_HEALTH_CHECKS"]) == (None, True)
    assert layer["BACKEND"].endswith("RedisPubSubChannelLayer")
    assert layer["CONFIG"]["hosts"] == ["redis://r:6380/2"]


def test_the_url_of_postgres_can_be_one_of_pgbouncer(manage: Manage) -> None:
    show = "import json; from django.conf import settings; print(json.dumps(settings.DATABASES['default']))"
    url = "postgres://ana@db:6432/ask"
    for end, is_disabled in (("", False), ("?disable_server_side_cursors=true", True)):
        database = json.loads(manage("shell", "-v0", "-c", show, DATABASE_URL=url + end).stdout)
        assert database["DISABLE_SERVER_SIDE_CURSORS"] is is_disabled
        assert "disable_server_side_cursors" not in database["OPTIONS"]


def test_mariadb_is_read_from_its_url(manage: Manage) -> None:
    show = "import json; from django.conf import settings; print(json.dumps(settings.DATABASES['default']))"
    done = manage("shell", "-v0", "-c", show, DATABASE_URL="mysql://ana:p%40ss@db:3307/ask")
    database = json.loads(done.stdout)
    assert database["ENGINE"] == "django.db.backends.mysql"
    assert (database["HOST"], database["PORT"], database["NAME"]) == ("db", 3307, "ask")
    assert (database["USER"], database["PASSWORD"]) == ("ana", "p@ss")
    assert (database["CONN_MAX_AGE"], database["CONN_HEALTH_CHECKS"]) == (None, True)


SHOW_MAIL = """
from django.conf import settings as s
print(s.EMAIL_HOST, s.EMAIL_PORT, s.EMAIL_HOST_USER, s.EMAIL_HOST_PASSWORD, s.EMAIL_USE_TLS, s.EMAIL_USE_SSL)
print(s.EMAIL_BACKEND.split(".")[-2], s.DEFAULT_FROM_EMAIL, s.ASK_BRIDGE["ORIGIN"])
"""


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({}, ["localhost 25   False False", "dummy Ask Bridge <ask-bridge@127.0.0.1> http://127.0.0.1:0"]),
        (
            {"EMAIL_URL": "smtp+tls://ana:a%40b@mail.example.org", "ORIGIN": "https://ask.example.org/"},
            [
                "mail.example.org 587 ana a@b True False",
                "smtp Ask Bridge <ask-bridge@ask.example.org> https://ask.example.org",
            ],
        ),
        (
            {"EMAIL_URL": "smtps://mail.example.org:1465", "EMAIL_FROM": "ops@example.org"},
            ["mail.example.org 1465   False True", "smtp ops@example.org http://127.0.0.1:0"],
        ),
    ],
)
def test_one_address_says_how_mails_go_out(manage: Manage, given: dict[str, str], shown: list[str]) -> None:
    done = manage("shell", "-v0", "-c", SHOW_MAIL, **given)
    assert done.stdout.splitlines() == shown


def test_a_mail_server_for_notifications_does_not_turn_on_new_passwords_by_mail(manage: Manage) -> None:
    show = "from django.conf import settings; print(settings.PASSWORD_RESET)"
    mail = {"EMAIL_URL": "smtp://mail.example.org"}
    assert manage("shell", "-v0", "-c", show, **mail).stdout.strip() == "False"
    assert manage("shell", "-v0", "-c", show, PASSWORD_RESET="1", **mail).stdout.strip() == "True"
