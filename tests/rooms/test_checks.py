"""`manage.py check` says what a portal's settings lack, and what to do."""

import logging
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.conf import settings as ours
from django.conf.urls.i18n import i18n_patterns
from django.core.checks import CheckMessage, run_checks
from django.urls import include, path, reverse_lazy

from rooms import conf
from rooms.live import routing

# Django's own checks ask the database what it supports.
pytestmark = pytest.mark.django_db


def found(**options: Any) -> dict[str, CheckMessage]:
    """What the checks of Ask Bridge have to say, by id."""
    messages = run_checks(**options)
    return {str(message.id): message for message in messages if str(message.id).startswith("ask_bridge.")}


def connection(vendor: str, **chosen: Any) -> SimpleNamespace:
    return SimpleNamespace(
        vendor=vendor, settings_dict={"OPTIONS": {"transaction_mode": "IMMEDIATE", **chosen}}
    )


@pytest.fixture(autouse=True)
def everything_is_said(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site silences what its own `serve` takes care of, and that has an application with our waits."""
    settings.SILENCED_SYSTEM_CHECKS = []
    monkeypatch.setattr(routing, "is_installed", True)


def test_the_site_itself_is_clean() -> None:
    assert found() == {}


@pytest.mark.parametrize(
    ("chosen", "named", "hint"),
    [
        ({"ASK_PER_MINUTE": 1}, "ASK_PER_MINUTE", "Did you mean ASKS_PER_MINUTE?"),
        ({"asks_per_minute": 1}, "asks_per_minute", "Did you mean ASKS_PER_MINUTE?"),
        ({"XYZ": 1}, "XYZ", "There are ANSWERS_PER_MINUTE, "),
        (["ASKS_PER_MINUTE"], "not a dictionary", "ASK_BRIDGE = {"),
    ],
)
def test_names_that_are_unknown(settings: Any, chosen: Any, named: str, hint: str) -> None:
    settings.ASK_BRIDGE = chosen
    error = found()["ask_bridge.E001"]
    assert named in error.msg
    assert hint in str(error.hint)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ASKS_PER_MINUTE", "600"),
        ("ASKS_PER_MINUTE", -1),
        ("ASKS_PER_MINUTE", True),
        ("DATABASE_THREADS", 0),
        ("METRICS_TOKEN", None),
        ("ROOM_CREATORS", "nobody"),
    ],
)
def test_values_of_the_wrong_kind(settings: Any, name: str, value: Any) -> None:
    settings.ASK_BRIDGE = {name: value}
    assert name in found()["ask_bridge.E002"].msg


def test_every_default_and_a_limit_of_none_are_right(settings: Any) -> None:
    settings.ASK_BRIDGE = {**conf.DEFAULTS, "ASKS_PER_MINUTE": 0}
    assert found() == {}


@pytest.mark.parametrize("path", ["portal.nowhere.Rules", "Rules", "rooms.permissions.permissions", None])
def test_permissions_that_are_none(settings: Any, path: Any) -> None:
    settings.ASK_BRIDGE = {"PERMISSIONS": path}
    assert "ask_bridge.E003" in found()


@pytest.mark.parametrize("name", ["django.contrib.sessions", "django.contrib.staticfiles"])
def test_a_missing_app(settings: Any, name: str) -> None:
    settings.INSTALLED_APPS = [app for app in ours.INSTALLED_APPS if app != name]
    assert name in found()["ask_bridge.E004"].msg


@pytest.mark.parametrize("part", ["SessionMiddleware", "CsrfViewMiddleware", "AuthenticationMiddleware"])
def test_a_missing_middleware(settings: Any, part: str) -> None:
    settings.MIDDLEWARE = [path for path in ours.MIDDLEWARE if not path.endswith(part)]
    assert part in found()["ask_bridge.E005"].msg


def test_templates_without_the_request(settings: Any) -> None:
    [engine] = ours.TEMPLATES
    settings.TEMPLATES = [{**engine, "OPTIONS": {"context_processors": []}}]
    assert "context_processors.request" in found()["ask_bridge.E006"].msg
    settings.TEMPLATES = []
    assert "Django's own templates" in found()["ask_bridge.E006"].msg


def test_addresses_that_are_not_included(settings: Any) -> None:
    settings.ROOT_URLCONF = "django.contrib.auth.urls"
    assert "rooms.urls" in str(found()["ask_bridge.E007"].hint)


def test_a_login_that_leads_nowhere(settings: Any) -> None:
    settings.LOGIN_URL = "/accounts/login/"
    assert "/accounts/login/" in found()["ask_bridge.W001"].msg
    settings.LOGIN_URL = "https://login.example.org/"  # outside of this project
    assert found() == {}


def test_a_login_that_no_url_is_called(settings: Any) -> None:
    settings.LOGIN_URL = "account_login"
    assert "'account_login'" in found()["ask_bridge.W001"].msg
    settings.LOGIN_URL = reverse_lazy("account_login")
    assert "'account_login'" in found()["ask_bridge.W001"].msg


def use_urls(settings: Any, monkeypatch: pytest.MonkeyPatch, *patterns: Any) -> None:
    urls = ModuleType("portal_urls")
    urls.urlpatterns = [*patterns, path("accounts/login/", login, name="login")]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "portal_urls", urls)
    settings.ROOT_URLCONF = "portal_urls"
    settings.LOGIN_URL = "login"


def login(request: Any, anything: str = "") -> None:
    """A view of the portal."""


OURS = path("ask/", include("rooms.urls"))


def test_a_login_below_a_prefix_for_the_language(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_urls(settings, monkeypatch, OURS, *i18n_patterns(path("entrance/", login)))
    settings.LOGIN_URL = "/entrance/"  # Django redirects from there
    assert found() == {}
    settings.LOGIN_URL = "/exit/"
    assert list(found()) == ["ask_bridge.W001"]


def test_addresses_that_a_pattern_for_everything_takes(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_urls(settings, monkeypatch, path("<path:anything>", login), OURS)
    error = found()["ask_bridge.E009"]
    assert "/ask/ is answered by “<path:anything>”" in error.msg
    assert "before" in str(error.hint)
    use_urls(settings, monkeypatch, OURS, path("<path:anything>", login))
    assert found() == {}


def test_pages_that_a_pattern_below_our_prefix_takes(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_urls(settings, monkeypatch, path("ask/rooms/<slug:anything>", login), OURS)
    assert "/ask/rooms/lobby is answered" in found()["ask_bridge.E009"].msg


def test_addresses_with_a_language(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    use_urls(settings, monkeypatch, *i18n_patterns(path("tools/", include([OURS]))))
    assert set(found()) == {"ask_bridge.W007"}


class UsersElsewhere:
    def db_for_write(self, model: Any, **hints: Any) -> str:
        return "people" if model._meta.app_label == "auth" else "default"


def test_users_in_another_database(settings: Any) -> None:
    settings.DATABASE_ROUTERS = ["tests.rooms.test_checks.UsersElsewhere"]
    assert "“people”" in found()["ask_bridge.E008"].msg


def test_sqlite_that_refuses_writers(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = connection("sqlite", transaction_mode=None)
    monkeypatch.setattr("rooms.checks.connections", {"default": chosen})
    assert "IMMEDIATE" in str(found()["ask_bridge.W008"].hint)
    for right in (connection("sqlite", transaction_mode="immediate"), connection("postgresql")):
        monkeypatch.setattr("rooms.checks.connections", {"default": right})
        assert found() == {}


def test_a_middleware_that_is_there_twice(settings: Any) -> None:
    settings.MIDDLEWARE = [*ours.MIDDLEWARE, "django_htmx.middleware.HtmxMiddleware"]
    assert "HtmxMiddleware is in MIDDLEWARE twice" in found()["ask_bridge.W006"].msg


@pytest.mark.parametrize(
    ("application", "said"),
    [(None, "is not set"), ("portal.asgi.application", "No module named 'portal'")],
)
def test_no_asgi_application(
    settings: Any, monkeypatch: pytest.MonkeyPatch, application: str | None, said: str
) -> None:
    settings.ASGI_APPLICATION = application
    monkeypatch.setattr(routing, "is_installed", False)
    assert said in found()["ask_bridge.W009"].msg


def test_the_loggers_of_the_portal_stay_on(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Commands run the checks as well, such as a worker that logs its jobs."""
    lines = "from django.core.asgi import get_asgi_application", "application = get_asgi_application()"
    (tmp_path / "portal_with_asgi.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    settings.ASGI_APPLICATION = "portal_with_asgi.application"
    settings.LOGGING = {"version": 1, "disable_existing_loggers": True}
    logger = logging.getLogger("portal.jobs")
    found()
    assert "portal_with_asgi" in sys.modules
    assert not logger.disabled


def test_an_application_without_our_waits(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ASGI_APPLICATION = "django.core.handlers.asgi.ASGIHandler"
    monkeypatch.setattr(routing, "is_installed", False)
    assert "with_live" in str(found()["ask_bridge.W002"].hint)
    routing.with_live(routing.with_live)  # anywhere in the application, under whatever wraps it
    assert found() == {}


def test_one_process_only_is_said_before_deployment(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rooms.checks.connections", {"default": connection("sqlite")})
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    assert set(found(include_deployment_checks=True)) == {"ask_bridge.W003", "ask_bridge.W004"}
    assert found() == {}


def test_sites_that_could_hear_each_other_are_said_before_deployment(settings: Any) -> None:
    settings.SILENCED_SYSTEM_CHECKS = ["ask_bridge.W004"]
    config: dict[str, Any] = {"hosts": ["redis://127.0.0.1:6379/0"]}
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": config}
    settings.CHANNEL_LAYERS = {"default": layer}
    assert "prefix" in str(found(include_deployment_checks=True)["ask_bridge.W005"].hint)
    config["prefix"] = "portal"
    assert "ask_bridge.W005" not in found(include_deployment_checks=True)
