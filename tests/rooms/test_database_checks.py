"""`manage.py check` says which databases and which of their settings Ask Bridge does not work with."""

from typing import Any

import pytest
from django.core.checks import Error

from rooms import checks


class Connection:
    def __init__(self, vendor: str, is_mariadb: bool = True, **options: Any) -> None:
        self.vendor, self.mysql_is_mariadb = vendor, is_mariadb
        self.settings_dict = {"ENGINE": f"django.db.backends.{vendor}", "OPTIONS": options}


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Any:
    def use_connection(*args: Any, **options: Any) -> None:
        monkeypatch.setattr(checks, "connections", {"default": Connection(*args, **options)})

    return use_connection


def ids(found: Any) -> list[str]:
    assert all(isinstance(each, Error) and each.hint for each in found)
    return [str(each.id) for each in found]


@pytest.mark.parametrize("vendor", ["postgresql", "sqlite", "mysql"])
def test_supported_databases_are_not_mentioned(use: Any, vendor: str) -> None:
    use(vendor)
    assert checks.check_database_settings() == []
    assert checks.check_database_server(databases=["default"]) == []


def test_other_databases_are_refused(use: Any) -> None:
    use("oracle")
    (error,) = checks.check_database_settings()
    assert (error.id, "django.db.backends.oracle" in error.msg) == ("ask_bridge.E020", True)


def test_mysql_is_refused_before_its_tables_are_made(use: Any) -> None:
    use("mysql", is_mariadb=False)
    assert (
        checks.check_database_server(databases=["default"])[0].msg == "Ask Bridge does not work with MySQL."
    )
    assert checks.check_database_server(databases=["other"]) == []
    assert checks.check_database_server(databases=None) == []


@pytest.mark.parametrize("level", ["repeatable read", "SERIALIZABLE", None])
def test_mariadb_needs_read_committed(use: Any, level: str | None) -> None:
    use("mysql", isolation_level=level)
    assert ids(checks.check_database_settings()) == ["ask_bridge.E022"]
    use("mysql", isolation_level="READ COMMITTED")
    assert checks.check_database_settings() == []


def test_mariadb_needs_a_connection_for_all_characters(use: Any) -> None:
    use("mysql", charset="utf8mb3")
    assert ids(checks.check_database_settings()) == ["ask_bridge.E023"]
    use("mysql", charset="utf8mb4")
    assert checks.check_database_settings() == []


@pytest.mark.parametrize("app", ["django_tenants", "tenant_schemas"])
def test_schemas_of_tenants_are_refused(monkeypatch: pytest.MonkeyPatch, app: str) -> None:
    monkeypatch.setattr(checks.apps, "is_installed", lambda name: name == app)
    assert ids(checks.check_database_settings()) == ["ask_bridge.E021"]
