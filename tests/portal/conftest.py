"""The built wheel, two machines that it is installed on, and the Chromium of the tests of pages."""

from pathlib import Path

import pytest

from tests.harness.shared_folder import made_once
from tests.portal.machines import Machine, build_wheel, new_machine


@pytest.fixture(scope="session")
def wheel() -> Path:
    with made_once("wheel", build_wheel) as folder:
        [wheel] = folder.glob("*.whl")
        return wheel


@pytest.fixture(scope="session")
def agent_machine(wheel: Path) -> Machine:
    """A machine after `pip install ask-bridge`."""
    with made_once("agent-machine", lambda folder: new_machine(folder, str(wheel))) as folder:
        return Machine(folder)


@pytest.fixture(scope="session")
def portal_machine(wheel: Path) -> Machine:
    """A machine after the commands of docs/portal.md, with two packages for the sample portal."""
    packages = [f"{wheel}[portal]", "daphne", "channels-redis", "psycopg[binary]"]
    packages += ["django-csp", "django-allauth[socialaccount]"]
    with made_once("portal-machine", lambda folder: new_machine(folder, *packages)) as folder:
        return Machine(folder)


@pytest.fixture(scope="session")
def bare_machine(wheel: Path) -> Machine:
    """A machine after `pip install "ask-bridge[portal]"`, and nothing else."""
    with made_once("bare-machine", lambda folder: new_machine(folder, f"{wheel}[portal]")) as folder:
        return Machine(folder)
