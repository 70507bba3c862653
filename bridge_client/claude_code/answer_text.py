"""The answer to one prompt as one string, as Claude Code writes it, and back.

Claude Code joins the parts of a multi-select with ", " and writes a part that holds ", " or a quote as a JSON
string. This module does the same and quotes a little more: what would otherwise be ambiguous, and characters
that are invisible. `decode(prompt, encode(prompt, choice))` is the choice again, for all labels and choices.

    Unit, Browser                      two labels
    "Unit, slow", Browser              two labels, one of which holds the separator
    Unit, and by hand                  a label and a custom text
    Unit, Other: "Browser"             a label and a custom text that equals another label

Older clients quote nothing. Their text is read as labels if there is only one way to do so; otherwise it is
kept as a custom text, because a wrong option would be worse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

SEPARATOR = ", "
# Before a quoted custom text that equals a label.
OTHER = "Other: "
# Before a quoted answer that could be read as labels: a label may be any text, also `"A", "B"`.
CHOSEN = "Chosen: "

# Invisible characters, and those that change how the rest is shown: controls, line and paragraph separators,
# direction marks, invisible spaces and operators, tags. Not the joiners of emoji and of several scripts.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


class Parts(NamedTuple):
    """The chosen labels, and a custom text or None."""

    selected: tuple[str, ...]
    custom: str | None


def quoted(text: str) -> str:
    """A JSON string on one line, with an escape for each invisible character."""
    return escape_invisible(json.dumps(text, ensure_ascii=False))


def escape_invisible(json_text: str) -> str:
    r"""The same JSON with an escape such as `\u202e` for each invisible character."""
    return UNSEEN.sub(lambda found: json.dumps(found.group())[1:-1].replace("\x7f", "\\u007f"), json_text)


def encode(prompt: Mapping[str, Any], selected: Sequence[str], custom: str | None) -> str:
    """The string that decodes to exactly this choice; empty if nothing was chosen."""
    parts = Parts(tuple(dict.fromkeys(selected)), custom or None)
    count = len(parts.selected) + (parts.custom is not None)
    if not count:
        return ""
    # A chosen label may be missing in the prompt, if the prompt arrived here in another shape.
    offer = _Offer(
        tuple(dict.fromkeys((*_labels(prompt), *parts.selected))), is_multi=_is_multi(prompt) or count > 1
    )
    return next(text for text in _spellings(parts, offer) if _read(text, offer) == parts)


def decode(prompt: Mapping[str, Any], text: str) -> Parts:
    """The labels and the custom text that a string stands for."""
    return _read(text, _Offer(tuple(_labels(prompt)), _is_multi(prompt)))


class _Offer(NamedTuple):
    """The labels that can be chosen, and whether several of them."""

    labels: tuple[str, ...]
    is_multi: bool


def _labels(prompt: Mapping[str, Any]) -> list[str]:
    options = prompt.get("options")
    return [
        str(option.get("label")) if isinstance(option, Mapping) else str(option)
        for option in (options if isinstance(options, (list, tuple)) else ())
    ]


def _is_multi(prompt: Mapping[str, Any]) -> bool:
    return bool(prompt.get("multiSelect") or prompt.get("multi_select"))


# ---- writing ---------------------------------------------------------------------------------------------


def _spellings(parts: Parts, offer: _Offer) -> Iterator[str]:
    """Ways to write it, the most readable first; at least one of them is unambiguous."""
    if offer.is_multi:
        yield _joined(parts, offer, quotes_all=False)
    elif parts.custom is None:
        yield parts.selected[0]
    elif _is_plain(parts.custom):
        yield parts.custom
    text = _joined(parts, offer, quotes_all=True)
    while True:
        yield text
        # Labels have a limited length: at some point none of them begins like this.
        text = CHOSEN + text


def _joined(parts: Parts, offer: _Offer, *, quotes_all: bool) -> str:
    def written(part: str) -> str:
        is_bare = not quotes_all and _is_plain(part) and SEPARATOR not in part
        return part if is_bare else quoted(part)

    texts = [written(label) for label in parts.selected]
    if parts.custom is not None:
        is_taken = parts.custom in offer.labels
        texts.append(OTHER + quoted(parts.custom) if is_taken else written(parts.custom))
    return SEPARATOR.join(texts)


def _joined_by_claude(parts: Parts) -> str:
    """A multi-select as Claude Code's own dialog writes it."""
    texts = [*parts.selected, *([parts.custom] if parts.custom is not None else [])]
    return SEPARATOR.join(
        json.dumps(text, ensure_ascii=False) if SEPARATOR in text or '"' in text else text for text in texts
    )


def _is_plain(text: str) -> bool:
    return '"' not in text and not UNSEEN.search(text) and text == text.strip()


# ---- reading ---------------------------------------------------------------------------------------------


def _read(text: str, offer: _Offer) -> Parts:
    if not offer.is_multi:
        return _read_single(text, offer)
    readings = [Parts(labels, None) for labels in _as_labels(text, offer.labels)]
    as_quoted = _quoted_parts(text, offer)
    if as_quoted and as_quoted not in readings:
        readings.append(as_quoted)
    if not readings:
        readings = [
            Parts(labels, rest) for labels, rest in _beginnings(text, offer.labels, ()) if rest is not None
        ]
    return readings[0] if len(readings) == 1 else Parts((), text)


def _read_single(text: str, offer: _Offer) -> Parts:
    """A label is written alone and without quotes; a custom text is quoted only if needed."""
    if text in offer.labels:
        return Parts((text,), None)
    as_quoted = _quoted_parts(text, offer)
    if as_quoted and not as_quoted.selected and as_quoted.custom is not None:
        needs_quotes = as_quoted.custom in offer.labels or not _is_plain(as_quoted.custom)
        if needs_quotes:
            return as_quoted
    return Parts((), text)


def _as_labels(text: str, labels: Sequence[str]) -> list[tuple[str, ...]]:
    """The ways to read all of the text as different labels without quotes, one for each set of them."""
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for used, rest in _beginnings(text, labels, ()):
        if rest is None:
            found.setdefault(frozenset(used), used)
    return list(found.values())


def _beginnings(
    text: str, labels: Sequence[str], used: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """As many labels as possible from the start of the text, and the rest of it or None."""
    is_label = False
    for label in labels:
        if not label or label in used:
            continue
        if text == label:
            is_label = True
            yield (*used, label), None
        elif text.startswith(label + SEPARATOR):
            is_label = True
            yield from _beginnings(text[len(label) + len(SEPARATOR) :], labels, (*used, label))
    if not is_label:
        yield used, text


def _quoted_parts(text: str, offer: _Offer) -> Parts | None:
    """The parts of a text with quotes, if this module or Claude Code writes them in this way."""
    if '"' not in text:
        return None
    text = _PREFIX.sub("", text)
    parts = _split(text, offer.labels)
    if parts is None:
        return None
    ways = [_joined(parts, offer, quotes_all=True)]
    if offer.is_multi:
        ways += [_joined(parts, offer, quotes_all=False), _joined_by_claude(parts)]
    return parts if text in ways else None


_PREFIX = re.compile(rf'^(?:{CHOSEN})+(?="|{OTHER}")')


def _split(text: str, labels: Sequence[str]) -> Parts | None:
    """The parts between separators outside of quotes; None if the text does not consist of such parts."""
    selected: list[str] = []
    custom: str | None = None
    place = 0
    while custom is None:  # a custom text is the last part
        is_other = text.startswith(f'{OTHER}"', place)
        place += len(OTHER) if is_other else 0
        if text.startswith('"', place):
            try:
                part, place = json.JSONDecoder().raw_decode(text, place)
            except ValueError:
                return None
        else:
            end = text.find(SEPARATOR, place)
            part = text[place:] if end < 0 else text[place:end]
            place += len(part)
        if part in labels and not is_other:
            selected.append(part)
        else:
            custom = part
        if place == len(text):
            return Parts(tuple(selected), custom)
        if not text.startswith(SEPARATOR, place):
            return None
        place += len(SEPARATOR)
    return None
