"""docs/deployment.md and deploy/ say what the code does."""

import json
import logging
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from django.conf import settings
from django.urls import reverse

from bridge import logs
from bridge.handler import THREADS
from bridge.password_queue import FORMS, HASHES_AT_ONCE, LONGEST_QUEUE
from rooms.conf import DEFAULTS
from rooms.contract.limits import BODY_LIMIT, LONGEST_WAIT_SECONDS
from rooms.live import metrics
from rooms.live.consumer import COMMENT_SECONDS
from tests.harness.sites import ROOT

DEPLOY = ROOT / "deploy"
DOCUMENT = (ROOT / "docs" / "deployment.md").read_text()
NGINX = (DEPLOY / "nginx.conf").read_text()
READ_FROM_ENVIRONMENT = set(
    re.findall(r'(?:env|service_urls)\.\w+\("([A-Z_]+)"', (ROOT / "bridge/settings.py").read_text())
)
UNITS = ["ask-bridge@.service", "ask-bridge-prepare.service", "ask-bridge.target"]


EXAMPLE = (DEPLOY / "ask-bridge.env.example").read_text()


def test_example_file_has_every_variable_that_is_read() -> None:
    # The unit has the address, with a port for each process.
    named = set(re.findall(r"^#?([A-Z_]+)=", EXAMPLE, re.MULTILINE))
    assert named == READ_FROM_ENVIRONMENT - {"HOST", "PORT"}


def test_containers_get_every_variable_that_is_read() -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    image = re.findall(r"^ENV (HOST=.*)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    built_in = {variable.partition("=")[0] for line in image for variable in line.split()}
    assert compose["x-web"]["environment"].keys() | built_in == READ_FROM_ENVIRONMENT


def test_a_shell_reads_the_example_file_as_systemd_does(tmp_path: Path) -> None:
    file = tmp_path / "ask-bridge.env"
    file.write_text(re.sub(r"^#(?=[A-Z_]+=)", "", EXAMPLE, flags=re.MULTILINE))
    show = ["sh", "-euc", '. "$0"; printf %s "$EMAIL_FROM"', str(file)]
    done = subprocess.run(show, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("Ask Bridge <ask-bridge@example.org>", "")


def test_document_names_every_file_that_is_deployed_and_no_other() -> None:
    there = {path.name for path in DEPLOY.iterdir()}
    named = set(re.findall(r"deploy/([\w@.-]+\w)", DOCUMENT))
    assert there == named


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


def test_nginx_names_the_request_as_the_site_reads_it() -> None:
    [header] = re.findall(r"proxy_set_header (\S+) \$request_id;", NGINX)
    assert header.lower().encode() == logs.REQUEST_ID_HEADER


def test_compose_gives_nginx_the_names_of_its_processes_and_of_the_site(tmp_path: Path) -> None:
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    script = compose["services"]["nginx"]["command"][-1].replace("$$", "$").partition("exec nginx")[0]
    made = tmp_path / "default.conf"
    script = script.replace("/deploy/", f"{DEPLOY}/").replace("/etc/nginx/conf.d/default.conf", str(made))
    hosts = {"PATH": os.environ["PATH"], "ALLOWED_HOSTS": "ask.team.example,web1"}
    subprocess.run(["sh", "-ec", script], env=hosts, check=True)
    assert re.findall(r"server (\w+):(\d+) ", made.read_text()) == [("web1", "8000"), ("web2", "8000")]
    assert set(re.findall(r"server_name (.+);", made.read_text())) == {"ask.team.example"}
    assert {"web1", "web2"} <= set(compose["services"])


def test_examples_of_prometheus_are_yaml() -> None:
    scraped, alerts = map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", DOCUMENT, re.DOTALL))
    [job] = scraped["scrape_configs"]
    ports = [target.partition(":")[2] for target in job["static_configs"][0]["targets"]]
    assert ports == re.findall(r"server 127\.0\.0\.1:(\d+) ", NGINX)
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in alerts["groups"][0]["rules"])


def test_document_has_every_metric_and_no_other(db: None) -> None:
    told = set(re.findall(r"^# TYPE (\w+) ", metrics.text(), re.MULTILINE))
    rows = re.findall(r"^\| (.+?) \| (?:site|process) \|", DOCUMENT, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == told
    asked_for = set(re.findall(r"\b(?:ask_bridge|process)_\w+", DOCUMENT))
    assert {re.sub(r"_bucket$", "", name) for name in asked_for} - {"ask_bridge"} <= told


def test_document_has_the_words_of_the_labels(db: None) -> None:
    for name, label in re.findall(
        r'^(ask_bridge_\w+_(?:questions|total))\{\w+="(\w+)"\}', metrics.text(), re.MULTILINE
    ):
        [row] = re.findall(rf"^\| `{name}` .*$", DOCUMENT, re.MULTILINE)
        assert f"`{label}`" in row


def test_document_has_the_fields_of_a_json_line() -> None:
    record = logging.LogRecord("rooms.live.hub", logging.ERROR, "", 1, "It failed", None, None)
    told = DOCUMENT.partition("With `LOG_FORMAT=json`")[2].partition("\n\n")[0]
    for field in json.loads(logs.JsonLine().format(record)):
        assert f"`{field}`" in told


def test_document_tells_the_connections_of_a_process() -> None:
    [told] = re.findall(r"to (\d+) connections of PostgreSQL", DOCUMENT)
    assert int(told) == THREADS + HASHES_AT_ONCE + DEFAULTS["DATABASE_THREADS"]


def test_nginx_limits_every_form_with_a_password_that_is_open_to_all() -> None:
    [pattern] = re.findall(r"location ~ (\S+) \{\s+limit_req ", NGINX)
    open_to_all = [name for name in FORMS if not name.startswith("admin:auth_user")]
    optional = {  # not in the URLs of a site without them
        "password_reset": "/password/reset/",
        "password_reset_confirm": "/password/reset/MQ/token/",
        "admin_login": "/admin/login/",
    }
    assert all(re.match(pattern, optional.get(name) or reverse(name)) for name in open_to_all)
    assert re.match(pattern, "/second-factor/")
    [burst] = re.findall(r"limit_req zone=\w+ burst=(\d+)", NGINX)
    assert int(burst) >= LONGEST_QUEUE


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    for name in UNITS:
        # It checks that the program exists, and the site is not installed here.
        text = (DEPLOY / name).read_text().replace("/opt/ask-bridge", str(ROOT))
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *(str(tmp_path / name) for name in UNITS)],
        capture_output=True,
        text=True,
    )
    # What it says about other units of this machine is not our business.
    assert [line for line in done.stderr.splitlines() if "ask-bridge" in line] == []
