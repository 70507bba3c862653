"""deploy/nginx.conf in a real nginx, in front of two site processes with production settings."""

import os
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPSConnection
from pathlib import Path
from typing import IO

import pytest

from tests.harness.agents import Agent
from tests.harness.bridges import PASSWORD, PEOPLE, Bridge
from tests.harness.certificates import make_certificate
from tests.harness.databases import postgres_and_redis_urls
from tests.harness.metrics import TOKEN, value
from tests.harness.people import Person
from tests.harness.sites import QUICK_PASSWORDS, ROOT, START_SECONDS, Site, clean_environment, free_port
from tests.harness.timing import eventually

NAME = "localhost"
PRODUCTION = {"PRODUCTION": "1", "SECRET_KEY": "k" * 60, "ALLOWED_HOSTS": NAME, "METRICS_TOKEN": TOKEN}

# What a distribution's nginx.conf has around the included file, and a log of the upstream of each request.
AROUND = """
{user}
worker_processes 2;
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    include {mime_types};
    default_type application/octet-stream;
    log_format served '$request_id $status $upstream_addr | $upstream_status | $request_method $request_uri';
    access_log {folder}/access.log served;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {included};
}}
"""


def nginx_program() -> str:
    """The path of nginx; without it CI fails, and other test runs skip."""
    # Debian installs it outside of the PATH of ordinary users.
    found = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if not found:
        missing = "needs nginx: install the package nginx (1.20 or newer)"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    return found


class Nginx:
    """A running nginx with deploy/nginx.conf; agents and people use it like a `Site`."""

    def __init__(self, folder: Path, upstream_ports: Sequence[int], static: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self.port, self.plain_port, *unused = (free_port() for _ in range(4))
        self.certificate = make_certificate(folder, NAME)
        self.trust = ssl.create_default_context(cafile=self.certificate)
        program = nginx_program()
        included = folder / "ask-bridge.conf"
        included.write_text(self._configuration(upstream_ports, static, unused))
        around = folder / "nginx.conf"
        around.write_text(
            AROUND.format(
                # Workers of a root nginx run as `nobody`, who may not read the folders of tests.
                user="user root;" if os.geteuid() == 0 else "",
                folder=folder,
                mime_types=_mime_types(program),
                included=included,
            )
        )
        self.process = subprocess.Popen([program, "-p", str(folder), "-c", str(around)])
        eventually(self._is_listening, START_SECONDS)

    def _configuration(self, upstream_ports: Sequence[int], static: Path, unused: Sequence[int]) -> str:
        """deploy/nginx.conf with other names, ports and certificates; each original must be in the file."""
        text = (ROOT / "deploy" / "nginx.conf").read_text()
        for old, new in {
            "127.0.0.1:8001 ": f"127.0.0.1:{upstream_ports[0]} ",
            "127.0.0.1:8002 ": f"127.0.0.1:{upstream_ports[-1]} ",
            "ask.example.org": NAME,
            "listen [::]:443 ": f"listen 127.0.0.1:{unused[0]} ",  # not every machine has IPv6
            "listen [::]:80;": f"listen 127.0.0.1:{unused[1]};",
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "listen 80;": f"listen 127.0.0.1:{self.plain_port};",
            "/etc/ssl/ask-bridge/fullchain.pem": str(self.certificate),
            "/etc/ssl/ask-bridge/privkey.pem": str(self.certificate),
            "/var/cache/ask-bridge/static/": f"{static}/",
        }.items():
            assert old in text, old
            text = text.replace(old, new)
        return text

    def _is_listening(self) -> bool:
        assert self.process.poll() is None, (self.folder / "error.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    @property
    def url(self) -> str:
        return f"https://{NAME}:{self.port}"

    def connect(self) -> HTTPSConnection:
        return HTTPSConnection(NAME, self.port, timeout=START_SECONDS, context=self.trust)

    def connect_without_tls(self) -> HTTPConnection:
        return HTTPConnection(NAME, self.plain_port, timeout=START_SECONDS)

    request = Site.request
    download = Site.download

    def curl(self, path: str, *options: str) -> list[str]:
        """The command for a request over HTTP/2."""
        program = shutil.which("curl")
        if not program:
            missing = "needs curl with HTTP/2"
            pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
        common = ["--http2", "--silent", "--no-buffer", "--noproxy", "*", "--cacert", str(self.certificate)]
        return [program, *common, *options, f"{self.url}{path}"]

    def served(self, path: str) -> list[str]:
        """For each finished request of this path: `status upstream[, upstream] | status[, status]`."""
        lines = (self.folder / "access.log").read_text().splitlines()
        return [line.split(" ", 1)[1].rpartition(" | ")[0] for line in lines if line.endswith(f" {path}")]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(START_SECONDS)


def _mime_types(program: str) -> Path:
    shown = subprocess.run([program, "-V"], capture_output=True, text=True, check=True).stderr
    (main,) = re.findall(r"--conf-path=(\S+)", shown)
    return Path(main).with_name("mime.types")


class SecurePerson(Person):
    """A person whose browser sends the Referer of a form, as browsers do over https."""

    def _headers(self, headers: dict[str, str]) -> dict[str, str]:
        return super()._headers({"Referer": f"https://{NAME}/"} | headers)


class Deployment:
    """Two processes in production settings on one PostgreSQL and Redis, and nginx in front of them."""

    def __init__(self, bridge: Bridge, front: Nginx) -> None:
        self.bridge = bridge
        self.front = front

    @property
    def sites(self) -> list[Site]:
        return self.bridge.sites

    def wait_until_waiting(self, *counts: int) -> None:
        """Until one process has the one number of waiting agents and the other process the other."""

        def waiting() -> list[float]:
            return [value(site, "ask_bridge_waiting_agents", Host=NAME) for site in self.sites]

        eventually(lambda: sorted(waiting()) == sorted(counts))

    def agent(self) -> Agent:
        agent = self.bridge.agent()
        agent.site = self.front
        return agent

    def person(self, username: str = "ana") -> SecurePerson:
        return SecurePerson(self.front, username, PASSWORD, PEOPLE[username])  # type: ignore[arg-type]

    def start_again(self, index: int) -> None:
        """Restart that process on its old port, whether it was stopped or killed."""
        port = self.sites[index].port
        self.sites[index].end()
        self.sites[index] = Site(self.bridge.environment | {"PORT": str(port)})


@contextmanager
def deployment(folder: Path, rooms: int) -> Iterator[Deployment]:
    nginx_program()  # before anything is started
    with ExitStack() as stack:
        data = folder / "data"
        environment = clean_environment(data) | PRODUCTION | QUICK_PASSWORDS
        environment |= stack.enter_context(postgres_and_redis_urls())
        sites: list[Site] = []
        stack.callback(lambda: [site.end() for site in sites])
        for _ in range(2):
            sites.append(Site(environment | {"PORT": str(free_port())}))
        bridge = Bridge(environment, sites, [f"room-{number:02}" for number in range(rooms)])
        front = Nginx(folder / "nginx", [site.port for site in sites], Path(environment["STATIC_DIR"]))
        stack.callback(front.end)
        yield Deployment(bridge, front)


def read_until(lines: IO[str], text: str) -> None:
    """Read up to the line with this text; fail if the stream ends before it."""
    while text not in (line := lines.readline()):
        assert line, "the stream ended"
