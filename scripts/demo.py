"""The site with a past and three scripted agents, to play with; run by `make demo`.

Everything is in data/demo. Ctrl+C ends the agents and the site.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from demo_agents import AGENTS, LIVELY_SECONDS, DemoAgents  # noqa: E402

DATA = ROOT / "data" / "demo"
KEYS = DATA / "agent-keys.json"
RUNNING = "Ask Bridge is running"
# The server stops by itself within 5 seconds, streams and waits included.
STOP_SECONDS = 8
# An agent that is told to stop tells the site so; a site that is stopping does not reply for long.
STOP_AGENTS_SECONDS = 2

PASSWORD = "demo"  # noqa: S105 - of demo people, on the loopback address only
ROOM = "demo"
# About a session of an agent each day, so that history and insights look like those of a team at work.
ENTRIES, DAYS = 600, 30
PEOPLE = (("ana", "Ana", "Costa"), ("ben", "Ben", "Okafor"), ("cleo", "Cleo", "Martin"))
GREETING = """
The demo is ready: three agents ask in the room Demo and react to what you decide.

  Sign in    {link} (works once)
  Or at      {address}
  User       admin, ana, ben or cleo; two browsers are a team
  Password   {password}

They ask often for {minutes} minutes from your first answer on, then now and then. Press Ctrl+C to stop.
Data is in data/demo; remove that folder to start again.
"""


def main() -> None:
    os.chdir(ROOT)
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGHUP, interrupt)
    port = os.environ.get("PORT") or "8000"
    address = f"http://127.0.0.1:{port}"
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "bridge.settings",
        "DATA_DIR": str(DATA),
        "HOST": "127.0.0.1",
        "PORT": port,
        "ORIGIN": address,
    }
    try:
        if not KEYS.exists():
            print("Preparing the demo …", flush=True)
            shutil.rmtree(DATA, ignore_errors=True)  # of a start that was interrupted
            run(__file__, "prepare")
        status = serve(address)
    except KeyboardInterrupt:
        status = 0
    sys.exit(status)


def serve(address: str) -> int:
    """Start the site and, when it runs, the agents; returns the exit code of the site."""
    command = [sys.executable, "manage.py", "serve"]
    site = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603 - this project
    agents = DemoAgents(address, ROOM, json.loads(KEYS.read_text()))
    try:
        if not any(RUNNING in line for line in site.stdout or ()):
            return site.wait()  # it has said why
        link = run("manage.py", "signin_link", "admin")
        print(
            GREETING.format(link=link, address=address, password=PASSWORD, minutes=LIVELY_SECONDS // 60),
            flush=True,
        )
        agents.start()
        return site.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        # Ctrl+C reaches the site as well, and a second one must not leave it running.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        agents.stop(STOP_AGENTS_SECONDS)
        end(site)


def end(site: "subprocess.Popen[str]") -> None:
    if site.poll() is None:
        site.terminate()
    try:
        site.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        site.kill()
        site.wait()


def run(*arguments: str) -> str:
    """What a command of this project prints; if it fails, the demo ends with its exit code."""
    done = subprocess.run([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)  # noqa: S603
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout.strip()


def interrupt(*signal_and_frame: object) -> NoReturn:
    raise KeyboardInterrupt


def prepare() -> None:
    """Make database, people, a room with a past and a key per agent. The file of keys comes last."""
    import django

    django.setup()

    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from bridge.private_files import open_private
    from rooms.access import create_key
    from rooms.lifecycle import create_room

    call_command("migrate", verbosity=0, interactive=False)
    call_command("createcachetable", verbosity=0)
    users = get_user_model().objects
    users.create_superuser("admin", password=PASSWORD)
    people = [
        users.create_user(name, password=PASSWORD, first_name=first, last_name=last)
        for name, first, last in PEOPLE
    ]
    room = create_room(ROOM, name="Demo", is_open=True, members=people)
    # Before the past, which takes the keys of agents that it knows.
    keys = {agent.name: create_key(room, label=agent.name)[1] for agent in AGENTS}
    # Of the past nothing is open: the open questions are those of the agents.
    past = ("--entries", str(ENTRIES), "--days", str(DAYS), "--open", "0")
    call_command("seed_demo", "--room", ROOM, *past)
    with open(KEYS, "w", opener=open_private) as file:
        json.dump(keys, file)


if __name__ == "__main__":
    prepare() if sys.argv[1:] == ["prepare"] else main()
