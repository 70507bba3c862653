"""Pytest plugin: mark each test by what it needs, so that `-m` selects one kind of test.

Every test has exactly one of `unit`, `process` and `browser`. `scaled` and `mariadb` come in addition.
"""

import pytest

from tests.harness.repeats import starts_processes

# The fixture that all browser tests depend on, in whatever folder they are.
BROWSER_FIXTURE = "chromium"
# Of tests/rooms: what depends on the database most. `make test` runs these on MariaDB as well; they also pass
# there with all others.
MARIADB_FILES = frozenset(
    f"test_{name}.py"
    for name in (
        *("answer", "ask", "audit", "audit_content", "care_groups", "close_stale", "compiled_statements"),
        "deliver",
        *("exact_texts", "history_search", "history_similar", "inbox_growth", "insights_figures"),
        *("invitations", "keys"),
        *("notification_outbox", "rate_limits", "read_only_database", "repeated_forms", "wait_leases"),
    )
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(_kind(item))
        if _runs_scaled_out(item):
            item.add_marker("scaled")
        # Migrating back and forth takes minutes there.
        migrates = "migrate" in getattr(item, "fixturenames", ())
        if item.path.parent.name == "rooms" and item.path.name in MARIADB_FILES and not migrates:
            item.add_marker("mariadb")


def _kind(item: pytest.Item) -> str:
    if item.path.parent.name == "browser" or BROWSER_FIXTURE in getattr(item, "fixturenames", ()):
        return "browser"
    return "process" if starts_processes(item) else "unit"


def _runs_scaled_out(item: pytest.Item) -> bool:
    """Whether the test runs on PostgreSQL and Redis, whatever the database of the others is."""
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    return "scaled" in values or "postgres_and_redis" in getattr(item, "fixturenames", ())
