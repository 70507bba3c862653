"""`ask-bridge memory`: prints earlier answers to similar questions."""

from __future__ import annotations

import argparse
from typing import Any

from bridge_client.claude_code.answers import claude_answers
from bridge_client.client import MEMORIES
from bridge_client.commands import exits, flags, terminal_text
from bridge_client.results import Answered, Memory

EPILOG = """Prints the most similar question first: how similar it is in percent, what was chosen, who chose
it and when, and its address. Prints nothing if nothing similar was answered. If it matters, ask
anyway: this question is not decided.

examples:
  ask-bridge memory "May I delete src/old_api.py?"
  ask-bridge memory ops "Which database should we use?" --json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EPILOG
    parser.add_argument("room_to_read", nargs="?", metavar="ROOM", help="instead of --room")
    parser.add_argument("text", help="the question as you would ask it")
    parser.add_argument("--limit", type=int, default=MEMORIES, metavar="N", help="at most N (3)")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each, with its similarity")
    flags.add_connection(parser)


def run(args: argparse.Namespace) -> int:
    args.room = args.room_to_read or args.room
    for memory in flags.make_client(args).memory(args.text, args.limit):
        if args.json:
            terminal_text.write_json(_as_json(memory))
        else:
            print(_in_words(memory), flush=True)
    return exits.OK


def _as_json(memory: Memory) -> dict[str, Any]:
    return {"similarity": memory.similarity, "question": memory.question.data}


def _in_words(memory: Memory) -> str:
    """A line with the question and one with the answer."""
    asked = " / ".join(str(prompt.get("question", "")) for prompt in memory.question.prompts)
    result = memory.question.result
    chosen, who, day = "", "in the terminal", ""
    if isinstance(result, Answered):
        chosen = " / ".join(claude_answers(result.choices, memory.question.prompts).values())
        who, day = f"by {result.by.name}" if result.by else who, result.at[:10]
    decided = f"{chosen} ({who}, {day})  {memory.question.url}"
    asked, decided = map(terminal_text.for_stdout, (asked, decided))
    return f"{memory.similarity:4.0%}  {asked}\n      {decided}"
