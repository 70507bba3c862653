"""Pytest plugin: mark each test by what it needs, so that `-m` selects one kind of test.

Every test has exactly one of `unit`, `process` and `browser`. `scaled` comes in addition.
"""

import pytest

from tests.harness.repeats import PROCESS_FIXTURES, PROCESS_FOLDERS

# The fixture that all browser tests depend on, in whatever folder they are.
BROWSER_FIXTURE = "chromium"
# Tests that start processes with helpers of their own instead of a fixture.
PROCESS_FILES = frozenset({"test_bench.py", "test_repeats.py"})


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(_kind(item))
        if _runs_scaled_out(item):
            item.add_marker("scaled")


def _kind(item: pytest.Item) -> str:
    fixtures = set(getattr(item, "fixturenames", ()))
    folder = item.path.parent.name
    if folder == "browser" or BROWSER_FIXTURE in fixtures:
        return "browser"
    if folder in PROCESS_FOLDERS or fixtures & PROCESS_FIXTURES or item.path.name in PROCESS_FILES:
        return "process"
    return "unit"


def _runs_scaled_out(item: pytest.Item) -> bool:
    """Whether the test runs on PostgreSQL and Redis, whatever the database of the others is."""
    values = getattr(getattr(item, "callspec", None), "params", {}).values()
    return "scaled" in values or "postgres_and_redis" in getattr(item, "fixturenames", ())
