"""The relay between a caller and `claude` in stream-json mode, in which the room answers the questions."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import IO, Any

from bridge_client.claude_code.answers import claude_answers, questions_of
from bridge_client.claude_code.child import StreamChild, lines_from, parsed
from bridge_client.claude_code.context import gather, shortened
from bridge_client.claude_code.decisions import Allow, Decision, decide, undecided_because
from bridge_client.claude_code.envelopes import AGENT, TOOLS
from bridge_client.claude_code.permissions import other_tool, permission
from bridge_client.claude_code.turns import Turns
from bridge_client.client import Client
from bridge_client.errors import ClientError
from bridge_client.results import Answered
from bridge_client.transport.cancellation import Cancellation
from bridge_client.transport.in_flight import InFlight

# Message types that show that the child works on a turn.
BUSY_TYPES = ("assistant", "stream_event", "control_request")


@dataclass(frozen=True)
class RelayOptions:
    """How the child's requests are answered."""

    timeout_seconds: float = 300.0
    # allow, deny or forward
    others: str = "deny"
    agent: str = AGENT
    answers_tool_uses: bool = False


class Relay:
    """Forwards between the caller and one child, from its first line to its last."""

    def __init__(self, child: StreamChild, client: Client, output: IO[bytes], options: RelayOptions) -> None:
        self._child = child
        self._client = client
        self._output = output
        self._options = options
        self._in_flight = InFlight()
        self._turns = Turns(child.close_input)
        self._session_id = ""
        self._cwd = os.getcwd()
        self._last_text = ""
        # The tool use of each request that the room answers, by request id.
        self._tool_uses: dict[str, str] = {}
        self._reader = threading.Thread(target=self._forward_output, daemon=True)
        self.is_output_closed = False

    def start(self, prompt: str, input_descriptor: int | None) -> None:
        """Send the prompt, then all input. After a prompt the child ends even if stdin stays open."""
        self._reader.start()
        if prompt:
            self._send_text(prompt)
        if prompt or input_descriptor is None:
            self._turns.input_ended()
        if input_descriptor is not None:
            threading.Thread(target=self._forward_input, args=(input_descriptor,), daemon=True).start()

    def wait(self) -> None:
        """Wait until the child has closed its output."""
        self._reader.join()

    def end(self, seconds: float) -> None:
        """Cancel all waits for the room."""
        self._in_flight.end(seconds)

    # ---- to the child

    def _forward_input(self, descriptor: int) -> None:
        for line in lines_from(descriptor):
            message = parsed(line)
            if message is None:
                self._send_text(line.decode("utf-8", "replace"))
                continue
            if message.get("type") == "user":
                self._turns.message_sent()
            self._child.send_line(line)
        self._turns.input_ended()

    def _send_text(self, text: str) -> None:
        self._turns.message_sent()
        self._child.send({"type": "user", "message": {"role": "user", "content": text}})

    # ---- from the child

    def _forward_output(self) -> None:
        for line in self._child.lines():
            message = parsed(line) or {}
            if self._answers(message):
                continue
            if not self.is_output_closed:
                try:
                    self._output.write(line)
                    self._output.flush()
                except OSError:
                    # The reader of the output has ended: stop the child, and drop the rest of its output.
                    self.is_output_closed = True
                    self._child.process.terminate()
            self._track(message)

    def _track(self, message: dict[str, Any]) -> None:
        kind = message.get("type")
        if kind == "result":
            self._turns.turn_ended()
        elif kind in BUSY_TYPES:
            self._turns.turn_started()
        if kind == "system" and message.get("subtype") == "init":
            self._turns.turn_started()
            self._session_id = str(message.get("session_id") or self._session_id)
            self._cwd = str(message.get("cwd") or self._cwd)
        elif kind == "assistant":
            self._read_assistant(message)

    def _read_assistant(self, message: dict[str, Any]) -> None:
        blocks = _blocks(message)
        text = "\n\n".join(str(block.get("text") or "") for block in blocks if block.get("type") == "text")
        # A subagent writes to the agent, not to people.
        if text.strip() and not message.get("parent_tool_use_id"):
            self._last_text = text
        if not self._options.answers_tool_uses:
            return
        for block in blocks:
            if block.get("type") == "tool_use" and block.get("name") in TOOLS:
                self._ask(str(block.get("id") or ""), _object(block.get("input")))

    def _answers(self, message: dict[str, Any]) -> bool:
        """Answer a request that is for the relay; False if the message is for the caller."""
        request_id, request = str(message.get("request_id") or ""), _object(message.get("request"))
        if message.get("type") == "control_cancel_request" and request_id in self._tool_uses:
            # It was answered elsewhere.
            self._in_flight.cancel(self._tool_uses[request_id])
            return True
        if message.get("type") != "control_request" or request.get("subtype") != "can_use_tool":
            return False
        tool_name, tool_input = str(request.get("tool_name") or ""), _object(request.get("input"))
        if tool_name in TOOLS:
            self._turns.turn_started()
            tool_use_id = str(request.get("tool_use_id") or request_id)
            self._tool_uses[request_id] = tool_use_id
            self._ask(tool_use_id, tool_input)
            return True
        if self._options.others == "forward":
            return False
        is_allowed = self._options.others == "allow"
        self._respond(request_id, other_tool(tool_name, tool_input, is_allowed=is_allowed))
        return True

    # ---- the room

    def _ask(self, tool_use_id: str, tool_input: dict[str, Any]) -> None:
        def answer(cancellation: Cancellation) -> None:
            decision, answers = self._ask_the_room(tool_use_id, tool_input, cancellation)
            # A request for the same tool use may have arrived meanwhile; it takes precedence.
            request_id = next((each for each, about in self._tool_uses.items() if about == tool_use_id), None)
            if request_id is not None:
                self._respond(request_id, decision)
            else:
                self._child.send(_tool_result(tool_use_id, decision, answers))

        self._in_flight.start(tool_use_id, answer)

    def _ask_the_room(
        self, tool_use_id: str, tool_input: dict[str, Any], cancellation: Cancellation
    ) -> tuple[Decision, dict[str, str]]:
        """The decision of the room, and the answers alone."""
        timeout_seconds = self._options.timeout_seconds
        try:
            result = self._client.ask_until(
                {"questions": questions_of(tool_input)},
                timeout_seconds,
                cancellation=cancellation,
                agent=self._options.agent,
                session_id=self._session_id,
                tool_use_id=tool_use_id,
                context=self._context(),
            )
        except ClientError as error:
            return undecided_because(error), {}
        choices = result.choices if isinstance(result, Answered) else []
        answers = claude_answers(choices, result.question.prompts)
        return decide(result, tool_input, timeout_seconds), answers

    def _context(self) -> dict[str, str]:
        text = shortened(self._last_text)
        return {**gather(self._cwd), **({"text": text} if text else {})}

    def _respond(self, request_id: str, decision: Decision) -> None:
        response = {"subtype": "success", "request_id": request_id, "response": permission(decision)}
        self._child.send({"type": "control_response", "response": response})


def _tool_result(tool_use_id: str, decision: Decision, answers: dict[str, str]) -> dict[str, Any]:
    """The reply for old clients, which send no requests: the answer alone, or all answers by question."""
    if isinstance(decision, Allow):
        text = next(iter(answers.values())) if len(answers) == 1 else json.dumps(answers)
    else:
        text = decision.message
    block = {
        "type": "tool_result",
        "tool_use_id": tool_use_id,
        "content": text,
        "is_error": not isinstance(decision, Allow),
    }
    return {"type": "user", "message": {"role": "user", "content": [block]}}


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = _object(message.get("message")).get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
