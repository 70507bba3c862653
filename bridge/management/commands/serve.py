"""Command `python manage.py serve`: prepares what is missing, then serves the site."""

import argparse
import socket
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, CommandError, CommandParser, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from bridge import env, preflight, static_files
from bridge.first_run import prepare_empty_site
from bridge.signin_link import create_link

# Wildcard addresses, and for each the address that a browser on this machine opens.
ALL_ADDRESSES = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104


class Command(BaseCommand):
    """Checks, migrates, creates the first admin, serves."""

    help = (
        "Start the site. The database is created and migrated as needed. The first start creates "
        "an admin, a room and an agent key, and shows them once."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options, which default to the environment."""
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = "Example: python manage.py serve --host 0.0.0.0 --port 8080"
        parser.add_argument("--host", default=settings.HOST, help="address to listen on (HOST)")
        parser.add_argument("--port", default=settings.PORT, type=_port, help="TCP port (PORT)")

    def handle(self, *, host: str, port: int, **options: Any) -> None:
        """Check everything before anything is changed, then prepare and serve."""
        host = host.strip("[]")
        bound = preflight.bind(host, port)
        preflight.check_database()
        preflight.check_redis()
        with preflight.lock_data_folder():
            self._make_data_private()
            with preflight.startup_lock():
                self._prepare()
                credentials = prepare_empty_site()
            address = _address(host, bound.getsockname()[1])
            if credentials:  # printed before anything else can fail: they are not stored in plain text
                link = None if settings.PRODUCTION else create_link(credentials.admin)
                self._print(credentials.text(_public_address() or address, link))
            self._serve(bound, host, address)

    def _make_data_private(self) -> None:
        notice, warning = preflight.make_data_private()
        if notice:
            self._print(notice)
        if warning:
            self.stderr.write(f"Warning: {warning}")

    def _prepare(self) -> None:
        executor = MigrationExecutor(connection)
        if steps := executor.migration_plan(executor.loader.graph.leaf_nodes()):
            if executor.loader.applied_migrations:  # quiet at the first start
                self._print(f"Preparing the database ({len(steps)} migrations) …")
            call_command("migrate", verbosity=0, interactive=False)
        call_command("createcachetable", verbosity=0)
        if not settings.DEBUG:
            static_files.collect()

    def _serve(self, bound: socket.socket, host: str, address: str) -> None:
        from bridge.asgi import application
        from bridge.server import SiteServer, start
        from bridge.session_cleanup import SessionCleanup
        from rooms.live import start_live, stop_live

        connection.close()  # the event loop of this thread must not use the database
        if not settings.PRODUCTION:
            settings.ALLOWED_HOSTS.append(host)  # --host works like HOST
            if not env.text("ORIGIN"):
                settings.ASK_BRIDGE["ORIGIN"] = address  # with the real port, for PORT=0
        cleanup = SessionCleanup()
        start(start_live())
        start(cleanup.start())

        async def stop() -> None:
            cleanup.stop()
            await stop_live()

        server = SiteServer(application, stop)
        try:
            server.listen(bound)
        except OSError as error:  # another process listens on the address since it was bound
            raise CommandError(preflight.bind_problem(host, bound.getsockname()[1], error)) from error
        server.run(when_running=lambda: self._print_address(host, address))

    def _print_address(self, host: str, address: str) -> None:
        name = f" for {public}" if (public := _public_address()) else ""
        self._print(f"Ask Bridge is running on {address}{name} (press Ctrl-C to stop)")
        if host in ALL_ADDRESSES and not settings.PRODUCTION and not env.comma_list("ALLOWED_HOSTS"):
            self._print("For other machines set ALLOWED_HOSTS to the name or address of this one.")

    def _print(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()  # stdout may be a pipe, which is buffered


def _port(value: str) -> int:
    try:
        return env.port_number("--port", value)
    except ImproperlyConfigured as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _address(host: str, port: int) -> str:
    """The URL of this process for a browser on this machine."""
    reachable = ALL_ADDRESSES.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{reachable}:{port}"


def _public_address() -> str | None:
    """The URL that people open in production: that of the proxy."""
    if not settings.PRODUCTION or settings.ALLOWED_HOSTS[0] == "*":
        return None
    return f"https://{settings.ALLOWED_HOSTS[0].lstrip('.')}"
