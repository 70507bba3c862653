"""The real Claude Code, from `claude-agent-sdk`, with a fresh home directory."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Thread
from typing import Any
from unittest import mock

import claude_agent_sdk
from claude_agent_sdk import CanUseTool, ClaudeAgentOptions, ClaudeSDKClient, Message

from tests.agents.scripted_model import PATIENCE_SECONDS, Json, Script
from tests.agents.terminal import Terminal

BINARY = Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"
API_KEY = "sk-ant-api03-not-a-key-0123456789-0123456789"
STREAM_OUT = ("--output-format", "stream-json", "--verbose")
# After SIGTERM the client stops its hooks and writes its session; then it is gone, or we see to it.
GOODBYE_SECONDS = 5


def hook(event: str, matcher: str = "AskUserQuestion", **fields: Any) -> Json:
    """Settings with one hook: `hook("PreToolUse", type="command", command="…")`."""
    return {"hooks": {event: [{"matcher": matcher, "hooks": [fields]}]}}


def end(process: "subprocess.Popen[bytes]") -> None:
    """First asked, then made to go."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(GOODBYE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Headless:
    """A running `claude -p`, or a program like it, whose messages are read as they come."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.messages: list[Json] = []
        self.errors = ""
        self._read = 0
        self._changed = Condition()
        # Daemon threads: a child process that inherited the pipes must not keep the tests from ending.
        self._readers = [
            Thread(target=self._collect, daemon=True),
            Thread(target=self._collect_errors, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _collect(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            if not line.endswith(b"\n"):
                return  # killed in the middle of it
            with self._changed:
                self.messages.append(json.loads(line))
                self._changed.notify_all()

    def _collect_errors(self) -> None:
        assert self.process.stderr
        self.errors = self.process.stderr.read().decode()

    def send(self, message: Json) -> None:
        """One line for its standard input."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def say(self, text: str) -> None:
        """What a person would type."""
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def expect(self, kind: str, seconds: float = PATIENCE_SECONDS) -> Json:
        """The next message of this type; what comes before it counts as read."""

        def found() -> Json | None:
            while self._read < len(self.messages):
                self._read += 1
                if self.messages[self._read - 1]["type"] == kind:
                    return self.messages[self._read - 1]
            return None

        with self._changed:
            message = self._changed.wait_for(found, seconds)
        assert message, f"no {kind} within {seconds} seconds: {self.messages} {self.errors}"
        return message

    def reply(self, request: Json, response: Json) -> None:
        """The answer to a control request, such as `can_use_tool`."""
        answer = {"subtype": "success", "request_id": request["request_id"], "response": response}
        self.send({"type": "control_response", "response": answer})

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """The exit code, when it has nothing more to do."""
        if self.process.stdin:
            self.process.stdin.close()
        return self.process.wait(seconds)

    def end(self) -> None:
        """Gone for good, and everything read that it wrote."""
        end(self.process)
        for reader in self._readers:
            reader.join(GOODBYE_SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe:
                pipe.close()


class Claude:
    """Claude Code with a fresh home, an empty project and a scripted model."""

    def __init__(
        self, directory: Path, script: Script, settings: Json | None = None, **variables: str
    ) -> None:
        self.script = script
        self.home, self.project = directory / "home", directory / "project"
        self.settings_file = self.home / ".claude" / "settings.json"
        self.settings_file.parent.mkdir(parents=True)
        self.project.mkdir()
        self.environment = {
            "PATH": f"{BINARY.parent}:{os.environ['PATH']}",
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": API_KEY,
            "ANTHROPIC_BASE_URL": script.base_url,
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
        } | variables
        # As after a first start in which the user has trusted the project and the key.
        state = {
            "hasCompletedOnboarding": True,
            "hasSeenAutoDefaultNotice": True,
            "projects": {str(self.project): {"hasTrustDialogAccepted": True}},
            "customApiKeyResponses": {"approved": [API_KEY[-20:]], "rejected": []},
        }
        (self.home / ".claude.json").write_text(json.dumps(state))
        self.settings_file.write_text(json.dumps(settings or {}))

    @contextmanager
    def running(self, *arguments: str, prompt: str = "Go ahead.") -> Iterator[Headless]:
        """`claude -p PROMPT`; with `--permission-prompt-tool NAME` the model may ask."""
        with self.program("claude", "-p", prompt, *STREAM_OUT, *arguments) as headless:
            yield headless

    @contextmanager
    def streaming(self, *arguments: str, prompt: str = "Go ahead.") -> Iterator[Headless]:
        """`claude -p` that takes stream-json and asks its caller for permissions on stdout."""
        flags = ("-p", "--input-format", "stream-json", "--permission-prompt-tool", "stdio")
        with self.program("claude", *flags, *STREAM_OUT, *arguments, stdin=subprocess.PIPE) as headless:
            headless.say(prompt)
            yield headless

    @contextmanager
    def program(self, *command: str, stdin: int = subprocess.DEVNULL) -> Iterator[Headless]:
        """Any program on this machine that prints JSON lines; `claude` is on its path."""
        process = subprocess.Popen(
            [shutil.which(command[0], path=self.environment["PATH"]) or command[0], *command[1:]],
            cwd=self.project,
            env=self.environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        headless = Headless(process)
        try:
            yield headless
        finally:
            headless.end()

    @contextmanager
    def interactive(self, *arguments: str, prompt: str = "Go ahead.") -> Iterator[Terminal]:
        """`claude` in a terminal of its own, at work on a prompt."""
        terminal = Terminal([str(BINARY), prompt, *arguments], self.project, self.environment)
        try:
            yield terminal
        finally:
            end(terminal.process)
            terminal.close()

    @contextmanager
    def in_sdk(
        self, can_use_tool: CanUseTool, prompt: str = "Go ahead.", **options: Any
    ) -> "Iterator[Future[list[Message]]]":
        """A program with the Agent SDK, in a thread of its own; the result is what its client said."""

        async def converse() -> list[Message]:
            said: list[Message] = []
            chosen = ClaudeAgentOptions(cwd=self.project, can_use_tool=can_use_tool, **options)
            async with asyncio.timeout(PATIENCE_SECONDS), ClaudeSDKClient(chosen) as client:
                await client.query(prompt)
                said += [message async for message in client.receive_response()]
            return said

        # The SDK hands its own environment on to the client: for this program it is the machine's.
        with (
            mock.patch.dict(os.environ, self.environment, clear=True),
            ThreadPoolExecutor(max_workers=1) as program,
        ):
            conversation = program.submit(lambda: asyncio.run(converse()))
            yield conversation
            conversation.result()

    def processes(self) -> list[int]:
        """Everything that runs with this home: hooks and servers outlive a client that was killed."""
        mark, found = f"HOME={self.home}".encode(), []
        for environ in Path("/proc").glob("[0-9]*/environ"):
            with suppress(OSError):  # ended meanwhile, or a process of another user
                if mark in environ.read_bytes().split(b"\0"):
                    found.append(int(environ.parent.name))
        return found

    def end(self) -> None:
        """Nothing of it runs any more."""
        for pid in self.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
