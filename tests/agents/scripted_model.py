"""A Messages API on loopback that says what a test wrote down for it, and remembers what it was told."""

import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any, Self

Json = dict[str, Any]

# A real client needs about a second for a turn; a busy machine several. A pass never waits this long.
PATIENCE_SECONDS = 30

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    name: str
    input: Json
    id: str = field(default_factory=lambda: f"toolu_scripted_{next(_numbers):04}")

    def block(self) -> Json:
        return {"type": "tool_use", "id": self.id, "name": self.name, "input": self.input}


def question(text: str, *options: str | Json, header: str = "Choice", multi: bool = False) -> Json:
    """One question as the tool takes it; an option is a label, or a whole option."""
    described = [
        {"label": option, "description": f"Take {option}"} if isinstance(option, str) else option
        for option in options
    ]
    return {"question": text, "header": header, "multiSelect": multi, "options": described}


def ask(*questions: Json) -> Call:
    """A call of AskUserQuestion."""
    return Call("AskUserQuestion", {"questions": list(questions)})


# What the model does when it is its turn: say something, or call one or several tools at once.
Turn = str | Call | list[Call]


@dataclass(frozen=True)
class ToolResult:
    """What the model was told about one of its calls."""

    text: str
    is_error: bool
    # What it was told along with that, such as a hook's additionalContext.
    beside: str

    def __contains__(self, text: str) -> bool:
        return text in self.text


def _blocks(messages: Iterable[Json]) -> Iterator[Json]:
    for message in messages:
        content = message["content"]
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(blocks: Iterable[Json]) -> str:
    return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def _results_in(messages: list[Json]) -> Iterator[tuple[str, ToolResult]]:
    for is_model, group in itertools.groupby(messages, lambda message: message["role"] == "assistant"):
        told = [] if is_model else list(_blocks(group))
        for block in told:
            if block["type"] == "tool_result":
                text = _text(_blocks([{"content": "", **block}]))
                yield block["tool_use_id"], ToolResult(text, bool(block.get("is_error")), _text(told))


class Script:
    """One conversation: turns to take, and everything that the model received meanwhile."""

    def __init__(self, base_url: str, turns: tuple[Turn, ...]) -> None:
        self.base_url = base_url
        self.requests: list[Json] = []
        self._turns = list(turns)
        self._results: dict[str, ToolResult] = {}
        self._changed = Condition()

    @property
    def tool_results(self) -> dict[str, ToolResult]:
        """Everything that the model was told about its calls so far, by tool_use_id."""
        with self._changed:
            return dict(self._results)

    @property
    def tools(self) -> set[str]:
        """The tools that the model was offered."""
        return {tool["name"] for request in self.requests for tool in request.get("tools", [])}

    def result_of(self, call: Call, seconds: float = PATIENCE_SECONDS) -> ToolResult:
        """What the model was told about a call, as soon as it was."""
        with self._changed:
            self._changed.wait_for(lambda: call.id in self._results, seconds)
            assert call.id in self._results, f"no result of {call.name} within {seconds} seconds"
            return self._results[call.id]

    def wait_for_end(self, seconds: float = PATIENCE_SECONDS) -> None:
        """Until the model has said everything."""
        with self._changed:
            assert self._changed.wait_for(lambda: not self._turns, seconds), f"left: {self._turns}"

    def reply_to(self, request: Json) -> list[Json]:
        """The blocks of the model's next message."""
        with self._changed:
            self.requests.append(request)
            # Titles, summaries and the like come without tools: they are no turn of the conversation.
            if not request.get("tools"):
                return [{"type": "text", "text": "Scripted"}]
            for tool_use_id, result in _results_in(request["messages"]):
                self._results.setdefault(tool_use_id, result)
            turn = self._turns.pop(0) if self._turns else "Done."
            self._changed.notify_all()
        if isinstance(turn, str):
            return [{"type": "text", "text": turn}]
        return [call.block() for call in (turn if isinstance(turn, list) else [turn])]


def _events(request: Json, blocks: list[Json]) -> Iterator[Json]:
    """A whole message as the stream of events that the real API sends."""
    stop_reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
    message = {
        "id": f"msg_scripted_{next(_numbers):04}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}


class _Conversation(BaseHTTPRequestHandler):
    server: "ScriptedModel"
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        _, name, *rest = self.path.partition("?")[0].split("/")
        script = self.server.scripts.get(name)
        match rest:
            case ["v1", "messages"] if script:
                self._send_message(script, json.loads(body))
            case ["v1", "messages", "count_tokens"] if script:
                self._send("application/json", b'{"input_tokens": 10}')
            case _:
                self._refuse()

    def _refuse(self) -> None:
        self.server.unexpected.append(f"{self.command} {self.path}")
        error = {"type": "error", "error": {"type": "not_found_error", "message": "not scripted"}}
        self._send("application/json", json.dumps(error).encode(), 404)

    do_GET = do_HEAD = do_PUT = do_DELETE = _refuse

    def _send_message(self, script: Script, request: Json) -> None:
        events = list(_events(request, blocks := script.reply_to(request)))
        if request.get("stream"):
            lines = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
            self._send("text/event-stream", "".join(lines).encode())
        else:
            message = events[0]["message"] | {"content": blocks} | events[-2]["delta"]
            self._send("application/json", json.dumps(message).encode())

    def _send(self, content_type: str, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Silent: what matters is in the script."""


class ScriptedModel(ThreadingHTTPServer):
    """The API, for any number of conversations at once, each under an address of its own."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.scripts: dict[str, Script] = {}
        # Calls that no test expects: must stay empty.
        self.unexpected: list[str] = []

    def script(self, *turns: Turn) -> Script:
        """A conversation that takes these turns, then says `Done.` to everything."""
        name = f"script-{next(_numbers):04}"
        self.scripts[name] = Script(f"http://127.0.0.1:{self.server_port}/{name}", turns)
        return self.scripts[name]

    @classmethod
    @contextmanager
    def running(cls) -> Iterator[Self]:
        with cls() as model:
            thread = Thread(target=model.serve_forever)
            thread.start()
            try:
                yield model
            finally:
                model.shutdown()
                thread.join()
