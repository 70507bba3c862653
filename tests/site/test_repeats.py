"""Failed tests of real processes are repeated alone; unit tests are not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.sites import ROOT

# Fails the first time, passes the second: the file that it leaves tells which time it is.
FAILS_ONCE = """
from pathlib import Path

def test_fails_once():
    seen = Path(__file__).with_suffix(".seen")
    is_first = not seen.exists()
    seen.touch()
    assert not is_first, "the first time"
"""
HANGS_ONCE = """
from pathlib import Path
from threading import Event

def test_passes():
    pass

def test_hangs_once():
    seen = Path(__file__).with_suffix(".seen")
    is_first = not seen.exists()
    seen.touch()
    assert not is_first or Event().wait()
"""
SET_UP_FAILS_ONCE = """
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def site():
    seen = Path(__file__).with_suffix(".seen")
    is_first = not seen.exists()
    seen.touch()
    assert not is_first, "the first time"
"""
FAILS_ONCE_WITH_FIXTURE = FAILS_ONCE.replace("def test_fails_once()", "def test_fails_once(bridge)")
FAILS = "def test_fails():\n    assert False, 'every time'\n"
PASSES = "def test_passes():\n    pass\n"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A project of its own that uses our plugin."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    (tmp_path / "conftest.py").write_text(
        'import pytest\npytest_plugins = ["tests.harness.repeats"]\n\n'
        "@pytest.fixture\ndef bridge():\n    yield\n"
    )
    return tmp_path


def write(suite: Path, path: str, text: str) -> None:
    (suite / path).parent.mkdir(exist_ok=True)
    (suite / path).write_text(text)


def run(suite: Path, *options: str) -> tuple[int, str]:
    """Exit code and output of the suite, with workers as `make test` has them."""
    command = [sys.executable, "-m", "pytest", "--numprocesses", "2", "--repeat-failed", *options]
    # Without the other plugins that are installed: to load them takes each of these processes seconds.
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"}
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", **plugins}
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


def test_what_passes_alone_is_named_flaky_and_does_not_fail_the_run(suite) -> None:
    write(suite, "browser/test_page.py", FAILS_ONCE)
    write(suite, "rooms/test_unit.py", PASSES)
    code, output = run(suite)
    assert code == 0, output
    assert "FLAKY browser/test_page.py::test_fails_once" in output
    assert "the first time" in output.partition("flaky: failed in the suite")[2]
    assert re.search(r"=+ 1 passed, 1 flaky in", output.splitlines()[-1])


def test_what_fails_twice_fails_the_run(suite) -> None:
    write(suite, "live/test_stream.py", FAILS)
    write(suite, "faults/test_kill.py", FAILS_ONCE)
    code, output = run(suite)
    assert code == 1
    assert "FAILED AGAIN: live/test_stream.py::test_fails" in output
    assert re.search(r"1 failed, 1 flaky in", output.splitlines()[-1])


def test_unit_tests_are_never_repeated(suite) -> None:
    write(suite, "rooms/test_unit.py", FAILS_ONCE)
    code, output = run(suite)
    assert code == 1
    assert "flaky" not in output


def test_a_test_elsewhere_is_repeated_if_it_uses_a_running_site(suite) -> None:
    write(suite, "security/test_limits.py", FAILS_ONCE_WITH_FIXTURE)
    code, output = run(suite)
    assert code == 0, output
    assert "FLAKY security/test_limits.py::test_fails_once" in output


def test_a_file_that_starts_processes_without_a_fixture_is_repeated(suite) -> None:
    write(suite, "site/test_openid_provider.py", FAILS_ONCE)
    code, output = run(suite)
    assert code == 0, output
    assert "FLAKY site/test_openid_provider.py::test_fails_once" in output


def test_a_test_that_hangs_is_given_up_and_repeated(suite) -> None:
    """With the options of the Makefile: its worker ends, another one goes on."""
    write(suite, "browser/test_page.py", HANGS_ONCE)
    code, output = run(suite, "-o", "faulthandler_timeout=1", "-o", "faulthandler_exit_on_timeout=true")
    assert code == 0, output
    assert "FLAKY browser/test_page.py::test_hangs_once" in output
    assert re.search(r"=+ 1 passed, 1 flaky in", output.splitlines()[-1])


def test_a_set_up_that_fails_once_is_repeated_with_all_tests_of_its_file(suite) -> None:
    tests = "".join(f"\ndef test_{number}(site):\n    pass\n" for number in range(20))
    write(suite, "portal/test_hosts.py", SET_UP_FAILS_ONCE + tests)
    code, output = run(suite, "--dist", "loadfile")
    assert code == 0, output
    assert output.count("FLAKY portal/test_hosts.py::") == 20


def test_nothing_is_repeated_where_much_is_broken(suite) -> None:
    write(suite, "browser/test_page.py", "\n".join(FAILS.replace("fails", f"fails_{n}") for n in range(16)))
    code, output = run(suite)
    assert code == 1
    assert "FAILED AGAIN" not in output


def test_a_file_that_cannot_be_collected_fails_the_run(suite) -> None:
    write(suite, "browser/test_broken.py", "import nothing_of_this_name\n")
    write(suite, "browser/test_page.py", FAILS_ONCE)
    code, _ = run(suite)
    assert code != 0
