"""docs/deployment.md and deploy/ say what the code does."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from rooms.exchange import COMMENT_SECONDS
from rooms.payload import BODY_LIMIT, LONGEST_WAIT_SECONDS
from tests.processes import ROOT

DEPLOY = ROOT / "deploy"
DOCUMENT = (ROOT / "docs" / "deployment.md").read_text()
NGINX = (DEPLOY / "nginx.conf").read_text()
READ_FROM_ENVIRONMENT = set(re.findall(r'env\.\w+\("([A-Z_]+)"', (ROOT / "bridge/settings.py").read_text()))
UNITS = ["ask-bridge@.service", "ask-bridge-prepare.service", "ask-bridge.target"]


def test_document_lists_exactly_the_variables_that_are_read() -> None:
    assert set(re.findall(r"^\| `([A-Z_]+)` \|", DOCUMENT, re.MULTILINE)) == READ_FROM_ENVIRONMENT


def test_example_and_compose_file_set_only_variables_that_are_read() -> None:
    example = (DEPLOY / "ask-bridge.env.example").read_text()
    assert set(re.findall(r"^([A-Z_]+)=", example, re.MULTILINE)) <= READ_FROM_ENVIRONMENT
    web = (DEPLOY / "compose.yaml").read_text().partition("services:")[0]
    assert set(re.findall(r"^    ([A-Z_]+): ", web, re.MULTILINE)) <= READ_FROM_ENVIRONMENT


def test_document_names_every_file_that_is_deployed_and_no_other() -> None:
    there = {path.name for path in DEPLOY.iterdir()}
    named = set(re.findall(r"deploy/([\w@.-]+\w)", DOCUMENT))
    assert named <= there
    # The compose file builds it; nobody needs its name.
    assert there - named == {"Dockerfile"}
    assert "docs/deployment.md" in (ROOT / "README.md").read_text()


def test_nginx_has_the_limits_of_the_site() -> None:
    sizes = [int(size) * 1024 for size in re.findall(r"client_max_body_size (\d+)k;", NGINX)]
    assert sorted(sizes) == [BODY_LIMIT, settings.DATA_UPLOAD_MAX_MEMORY_SIZE]
    told = [int(size) * 1024 for size in re.findall(r"The body may have (\d+) KiB", NGINX)]
    assert told == [BODY_LIMIT]


def test_nginx_is_more_patient_than_the_longest_silence() -> None:
    for location in ("location /api/", "stream$"):
        [seconds] = re.findall(r"proxy_read_timeout (\d+)s;", NGINX.partition(location)[2].partition("}")[0])
        assert int(seconds) > max(LONGEST_WAIT_SECONDS, COMMENT_SECONDS)


def test_nginx_and_systemd_name_the_same_ports() -> None:
    started = re.findall(r"ask-bridge@(\d+)\.service", (DEPLOY / "ask-bridge.target").read_text())
    assert re.findall(r"server 127\.0\.0\.1:(\d+) ", NGINX) == started


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name in UNITS:
        # It looks whether the program is there, and nobody has installed the site.
        text = (DEPLOY / name).read_text().replace("/opt/ask-bridge", str(ROOT))
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
        capture_output=True,
        text=True,
    )
    # What it says about other units of this machine is not our business.
    assert [line for line in done.stderr.splitlines() if "ask-bridge" in line] == []
