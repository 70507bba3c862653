"""A `claude` that speaks stream-json as the real one does, and calls the tools that a test tells it to.

For every message of a user it calls the tools in FAKE_CALLS, all at once, and ends its turn when each of them
has a result. Everything that it reads goes to the file FAKE_LOG, after its arguments.
"""

import itertools
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

CALLS: list[Json] = json.loads(os.environ.get("FAKE_CALLS", "[]"))
# An old client: it calls, and waits for a tool_result without asking for permission.
IS_OLD = "FAKE_OLD" in os.environ
LOG = Path(os.environ["FAKE_LOG"])
SESSION = {"session_id": "fake-session", "parent_tool_use_id": None}

numbers = itertools.count(1)
# The calls without a result, by what their result will be known by.
pending: dict[str, Json] = {}


def remember(line: str) -> None:
    with LOG.open("a") as log:
        log.write(line)


def emit(message: Json) -> None:
    print(json.dumps(message), flush=True)


def begin_turn() -> None:
    emit({"type": "system", "subtype": "init", "cwd": os.getcwd(), **SESSION})
    for call in CALLS:
        tool_use_id = f"toolu_{next(numbers)}"
        use = {"type": "tool_use", "id": tool_use_id, "name": call["tool"], "input": call["input"]}
        blocks = [{"type": "text", "text": "Let me ask."}, use]
        emit({"type": "assistant", "message": {"role": "assistant", "content": blocks}, **SESSION})
        if IS_OLD:
            pending[tool_use_id] = call
            continue
        request_id = f"request_{tool_use_id}"
        pending[request_id] = call
        request = {
            "subtype": "can_use_tool",
            "tool_name": call["tool"],
            "input": call["input"],
            "tool_use_id": tool_use_id,
        }
        emit({"type": "control_request", "request_id": request_id, "request": request})
    end_turn_if_done()


def end_turn_if_done() -> None:
    if not pending:
        emit({"type": "result", "subtype": "success", **SESSION})


def got(known_by: str, result: Any) -> None:
    if pending.pop(known_by, None):
        emit({"type": "user", "message": {"role": "user", "content": [{"got": result}]}, **SESSION})
        end_turn_if_done()


def read(message: Json) -> None:
    if message["type"] == "control_response":
        response = message["response"]
        got(response["request_id"], response["response"])
    elif message["type"] == "answered_elsewhere":
        for request_id in list(pending):
            emit({"type": "control_cancel_request", "request_id": request_id})
            got(request_id, "elsewhere")
    elif message["type"] == "user":
        content = message["message"]["content"]
        results = [block for block in content if isinstance(block, dict)]
        for block in results:
            got(block["tool_use_id"], block)
        if not results:
            begin_turn()


def leave(number: int, frame: Any) -> None:
    emit({"type": "last_words", "signal": signal.Signals(number).name})
    sys.exit(7)


if __name__ == "__main__":
    for name in os.environ.get("FAKE_CATCHES", "").split():
        signal.signal(signal.Signals[name], leave)
    remember(json.dumps(sys.argv[1:]) + "\n")
    print("a warning of claude", file=sys.stderr, flush=True)
    for line in sys.stdin:
        remember(line)
        read(json.loads(line))
    sys.exit(int(os.environ.get("FAKE_EXIT", "0")))
