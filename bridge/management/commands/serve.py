"""`python manage.py serve`: prepare what is missing, then serve the site."""

import argparse
import socket
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from bridge import env, preflight
from bridge.first_run import welcome

ALL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 -- where to reach them from here


class Command(BaseCommand):
    """Checks, migrates, welcomes the first user, serves."""

    help = (
        "Start the site. It prepares its database by itself; the very first start creates "
        "an admin, a room and an agent key, and shows them once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Both default to the environment."""
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py serve --host 0.0.0.0 --port 8080"
        parser.add_argument("--host", default=settings.HOST, help="address to listen on (HOST)")
        parser.add_argument("--port", default=settings.PORT, type=_port, help="TCP port (PORT)")

    def handle(self, *, host: str, port: int, **options: Any) -> None:
        """Everything that can be wrong is found before anything is changed."""
        host = host.strip("[]")
        bound = preflight.bind(host, port)
        preflight.check_database()
        preflight.check_redis()
        with preflight.data_folder_for_us_alone():
            self._keep_other_users_out()
            with preflight.one_process_at_a_time():
                self._prepare()
                first = welcome()
            address = _address(host, bound.getsockname()[1])
            if first:  # said before anything else can fail: nobody can look it up later
                self._say(first.text(_public_address() or address))
            self._serve(bound, host, address)

    def _keep_other_users_out(self) -> None:
        said, warning = preflight.keep_other_users_out()
        if said:
            self._say(said)
        if warning:
            self.stderr.write(f"Warning: {warning}")

    def _prepare(self) -> None:
        executor = MigrationExecutor(connection)
        if steps := executor.migration_plan(executor.loader.graph.leaf_nodes()):
            self._say(f"Preparing the database ({len(steps)} steps) …")
            call_command("migrate", verbosity=0, interactive=False)
        call_command("createcachetable", verbosity=0)
        if settings.PRODUCTION:
            self._say("Collecting static files …")
            call_command("collectstatic", verbosity=0, interactive=False)

    def _serve(self, bound: socket.socket, host: str, address: str) -> None:
        from bridge.asgi import application
        from bridge.server import SiteServer, start
        from bridge.session_cleanup import SessionCleanup
        from rooms.live import start_live, stop_live

        connection.close()  # this thread only serves from here on
        if not settings.PRODUCTION:
            settings.ALLOWED_HOSTS.append(host)  # --host counts as HOST does
            if not env.text("ORIGIN"):
                settings.ASK_BRIDGE["ORIGIN"] = address  # with the port that it became
        cleanup = SessionCleanup()
        start(start_live())
        start(cleanup.start())

        async def stop() -> None:
            cleanup.stop()
            await stop_live()

        server = SiteServer(application, stop)
        try:
            server.listen(bound)
        except OSError as error:  # another process was faster between bind and here
            raise CommandError(preflight.why_not_bound(host, bound.getsockname()[1], error)) from error
        server.run(when_running=lambda: self._say_where(host, address))

    def _say_where(self, host: str, address: str) -> None:
        name = f" for {public}" if (public := _public_address()) else ""
        self._say(f"Ask Bridge is on {address}{name} (Ctrl-C stops it)")
        if host in ALL_ADDRESSES and not settings.PRODUCTION and not env.words("ALLOWED_HOSTS"):
            self._say("For other machines, name this one as they do: ALLOWED_HOSTS=name-or-address")

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # somebody may be watching through a pipe


def _port(value: str) -> int:
    try:
        return env.port_number("--port", value)
    except ImproperlyConfigured as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _address(host: str, port: int) -> str:
    """Where this process can be reached from this machine."""
    reachable = ALL_ADDRESSES.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{reachable}:{port}"


def _public_address() -> str | None:
    """What people open in production: the proxy's name."""
    if not settings.PRODUCTION or settings.ALLOWED_HOSTS[0] == "*":
        return None
    return f"https://{settings.ALLOWED_HOSTS[0].lstrip('.')}"
