"""The site for developers: demo data, debug pages, restart on edit; run by `make dev`.

An edit of Python, a template or a translation restarts the site, which takes a second or two; open pages and
waiting agents reconnect by themselves. Static files need no restart: reload the page.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from watchfiles import Change, DefaultFilter, run_process

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "data" / "dev"
WATCHED = [ROOT / folder for folder in ("bridge", "bridge_client", "rooms", "templates", "locale")]
# Loaded once by a process. A .po is compiled first; its .mo would only restart the site a second time.
LOADED_ONCE = (".py", ".html", ".txt", ".po")
# The server stops by itself within 5 seconds, streams and waits included.
STOP_SECONDS = 8

PASSWORD = "demo"  # noqa: S105 - of demo people, on the loopback address only
ROOM = "demo"
ENTRIES = 400
PEOPLE = (("ana", "Ana", "Costa"), ("ben", "Ben", "Okafor"), ("cleo", "Cleo", "Martin"))
GREETING = """\
Demo data is in data/dev; remove that folder to start again.

  Open       {address}
  Sign in    admin, ana, ben or cleo; the password is “{password}”
  Agent key  {key} (room {room})

Ask a question from another terminal:

  ASK_BRIDGE_URL={address} ASK_BRIDGE_ROOM={room} ASK_BRIDGE_KEY={key} \\
    .venv/bin/python -m bridge_client ask "Deploy now?" --option Yes --option No
"""


class LoadedOnce(DefaultFilter):
    """Files that a running site has read for good."""

    def __call__(self, change: Change, path: str) -> bool:
        return path.endswith(LOADED_ONCE) and super().__call__(change, path)


def main() -> None:
    os.chdir(ROOT)
    port = os.environ.get("PORT") or "8000"
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "bridge.dev_settings",
        "DATA_DIR": str(DATA),
        "HOST": "127.0.0.1",
        "PORT": port,
    }
    key_file = DATA / "agent-key"
    if not key_file.exists():
        print("Making demo data in data/dev …", flush=True)
        shutil.rmtree(DATA, ignore_errors=True)  # of a start that was interrupted
        prepared = subprocess.run([sys.executable, __file__, "prepare"])  # noqa: S603 - this file
        if prepared.returncode:
            sys.exit(prepared.returncode)
    address = f"http://127.0.0.1:{port}"
    print(
        GREETING.format(address=address, password=PASSWORD, room=ROOM, key=key_file.read_text()), flush=True
    )
    run_process(
        *WATCHED,
        target=f"{sys.executable} manage.py serve",
        target_type="command",
        watch_filter=LoadedOnce(),
        callback=announce,
        sigint_timeout=STOP_SECONDS,
    )


def announce(changes: set[tuple[Change, str]]) -> None:
    """Before each restart: name what changed, and compile translations."""
    paths = sorted({Path(path) for _, path in changes})
    print(f"Changed: {', '.join(str(path.relative_to(ROOT)) for path in paths)}. Restarting …", flush=True)
    for path in paths:
        if path.suffix == ".po" and path.exists():
            if shutil.which("msgfmt") is None:
                print("Translations stay as they are: install gettext to compile them.", flush=True)
                return
            compiled = ["msgfmt", "--check-format", "-o", str(path.with_suffix(".mo")), str(path)]
            subprocess.run(compiled)  # noqa: S603 - a file of this repository


def prepare() -> None:
    """Make database, people, a room with a past and a key. The key's file comes last: then all is there."""
    sys.path.insert(0, str(ROOT))
    import django

    django.setup()

    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from rooms.access import create_key
    from rooms.lifecycle import create_room

    call_command("migrate", verbosity=0, interactive=False)
    users = get_user_model().objects
    users.create_superuser("admin", password=PASSWORD)
    people = [
        users.create_user(name, password=PASSWORD, first_name=first, last_name=last)
        for name, first, last in PEOPLE
    ]
    room = create_room(ROOM, name="Demo", is_open=True, members=people)
    call_command("seed_demo", "--room", ROOM, "--entries", str(ENTRIES))
    _, key = create_key(room, label="demo agent")
    (DATA / "agent-key").write_text(key)


if __name__ == "__main__":
    prepare() if sys.argv[1:] == ["prepare"] else main()
