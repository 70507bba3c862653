"""Pytest plugin: run failed tests of real processes and browsers once more, alone.

With `--repeat-failed`, each such test runs once more after the whole suite, one at a time; those of a file
that failed in their set-up, which they may share, run together. A test that passes then is listed as flaky
with its first failure and does not fail the run; one that fails twice does. Unit tests are never repeated:
their result depends only on their own code.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.shared_folder import FOLDER_VARIABLE

# Folders whose tests all start real processes or browsers.
PROCESS_FOLDERS = frozenset({"agents", "browser", "faults", "live", "portal"})
# Fixtures that do so in the other folders: a running site, commands of it, or the browser.
PROCESS_FIXTURES = frozenset({"bridge", "chromium", "company", "manage", "own_bridge", "reader", "serve"})
# Tests that start processes with helpers of their own instead of a fixture.
PROCESS_FILES = frozenset({"test_bench.py", "test_openid_provider.py", "test_repeats.py"})
# More failures than this have a common cause: repeating them would only take long.
MOST_REPEATS = 15
# Far more than the slowest test or file needs: a repeated test that hangs fails.
REPEAT_SECONDS = 300
PROPERTY = "starts processes"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--repeat-failed",
        action="store_true",
        help="run failed tests of real processes and browsers once more, alone",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that may be repeated: with xdist only their reports reach the main process."""
    for item in items:
        if starts_processes(item):
            item.user_properties.append((PROPERTY, True))


def starts_processes(item: pytest.Item) -> bool:
    is_named = item.path.parent.name in PROCESS_FOLDERS or item.path.name in PROCESS_FILES
    return is_named or bool(PROCESS_FIXTURES & set(getattr(item, "fixturenames", ())))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """After the workers have ended, repeat failed tests; those that pass count as flaky instead of failed."""
    config = session.config
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if not config.getoption("--repeat-failed") or hasattr(config, "workerinput") or terminal is None:
        return
    broken = [report for kind in ("failed", "error") for report in terminal.stats.get(kind, ())]
    repeats = repeats_of([report for report in broken if may_be_repeated(report)])
    if not repeats or len(repeats) > MOST_REPEATS:
        return
    terminal.section("repeating alone what failed")
    flaky = set()
    for node_ids in repeats:
        has_passed = passes_alone(config.rootpath, node_ids)
        for node_id in node_ids:
            terminal.write_line(f"{'passed now' if has_passed else 'FAILED AGAIN'}: {node_id}")
        if has_passed:
            flaky.update(node_ids)
    for kind in ("failed", "error"):
        reports = terminal.stats.pop(kind, [])
        terminal.stats.setdefault("flaky", []).extend(report for report in reports if report.nodeid in flaky)
        if remaining := [report for report in reports if report.nodeid not in flaky]:
            terminal.stats[kind] = remaining
    is_clean = not terminal.stats.get("failed") and not terminal.stats.get("error")
    if is_clean and session.exitstatus == pytest.ExitCode.TESTS_FAILED:
        session.exitstatus = pytest.ExitCode.OK


def may_be_repeated(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """By its property, or by its path: a worker that crashed sends no properties."""
    if not isinstance(report, pytest.TestReport):
        return False
    path = Path(report.nodeid.partition("::")[0])
    is_named = path.parent.name in PROCESS_FOLDERS or path.name in PROCESS_FILES
    return is_named or (PROPERTY, True) in report.user_properties


def repeats_of(reports: list[pytest.TestReport]) -> list[list[str]]:
    """The tests of each repeat: one, or all of a file that failed in their set-up, which they may share."""
    repeats: dict[str, list[str]] = {}
    for report in reports:
        path = report.nodeid.partition("::")[0]
        together = repeats.setdefault(path if report.when == "setup" else report.nodeid, [])
        if report.nodeid not in together:
            together.append(report.nodeid)
    return list(repeats.values())


def passes_alone(root: Path, node_ids: list[str]) -> bool:
    """Whether these tests pass in a process of their own, with prototypes of its own."""
    environment = {name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *node_ids]
    try:
        done = subprocess.run(
            command, cwd=root, env=environment, capture_output=True, text=True, timeout=REPEAT_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    """Name the flaky tests at the very end, where they are read."""
    yield
    if flaky := terminalreporter.stats.get("flaky"):
        terminalreporter.section("flaky: failed in the suite, passed alone")
        for report in flaky:
            terminalreporter.write_line(f"FLAKY {report.nodeid}")
            terminalreporter.write_line(report.longreprtext)
