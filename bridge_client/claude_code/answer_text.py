"""The answer to one prompt as one string, and back: the edge where lists of labels become Claude's text.

Claude Code joins the parts of a multi-select with ", " and writes a part that holds ", " or a quote as a JSON
string. So do we, and we quote a little more: what would otherwise have a second reading, and characters that
cannot be seen. `decode(prompt, encode(prompt, choice))` is the choice again, for all labels and all choices.

    Unit, Browser                      two labels
    "Unit, slow", Browser              two labels, of which one holds the separator
    Unit, and by hand                  a label and a text of one's own
    Unit, Other: "Browser"             a label and a text of one's own that equals another label

Older clients quote nothing. Their text is read as labels if there is only one way to do so; otherwise it is
kept as a text of one's own, because a wrong option would be worse.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

SEPARATOR = ", "
# Before a quoted text of one's own that equals a label.
OTHER = "Other: "
# Before a quoted answer that could be taken for labels: options may be called anything, also `"A", "B"`.
CHOSEN = "Chosen: "

# What is not seen, or changes how the rest is seen: controls, line and paragraph separators, direction marks,
# invisible spaces and operators, tags. The joiners of emoji and of several scripts are no part of it.
UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


class Parts(NamedTuple):
    """The labels that were chosen, and a text of one's own or None."""

    selected: tuple[str, ...]
    custom: str | None


def quoted(text: str) -> str:
    """A JSON string on one line, in which every character that cannot be seen is spelled out."""
    return spelled_out(json.dumps(text, ensure_ascii=False))


def spelled_out(json_text: str) -> str:
    r"""The same JSON with `\u202e` for each character that cannot be seen."""
    return UNSEEN.sub(lambda found: json.dumps(found.group())[1:-1].replace("\x7f", "\\u007f"), json_text)


def encode(prompt: Mapping[str, Any], selected: Sequence[str], custom: str | None) -> str:
    """One string that says exactly this; empty if nothing was chosen."""
    parts = Parts(tuple(dict.fromkeys(selected)), custom or None)
    count = len(parts.selected) + (parts.custom is not None)
    if not count:
        return ""
    # A prompt that does not know what was chosen is one that was not handed on to us as it was asked.
    offer = _Offer(
        tuple(dict.fromkeys((*_labels(prompt), *parts.selected))), is_multi=_is_multi(prompt) or count > 1
    )
    return next(text for text in _spellings(parts, offer) if _read(text, offer) == parts)


def decode(prompt: Mapping[str, Any], text: str) -> Parts:
    """The labels and the text of one's own that a string stands for."""
    return _read(text, _Offer(tuple(_labels(prompt)), _is_multi(prompt)))


class _Offer(NamedTuple):
    """What can be chosen, and whether several of it."""

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
    """Ways to write it, the most readable first; one of them can be read in this way only."""
    if offer.is_multi:
        yield _joined(parts, offer, quotes_all=False)
    elif parts.custom is None:
        yield parts.selected[0]
    elif _is_plain(parts.custom):
        yield parts.custom
    text = _joined(parts, offer, quotes_all=True)
    while True:
        yield text
        # The labels are only so long: sooner or later none of them begins like this.
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
    """As Claude Code's own dialog writes a multi-select."""
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
    """A label stands alone and without quotes; a text of one's own is quoted if it has to be."""
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
    """As many labels from the beginning on as there can be, and the text behind them or None."""
    goes_on = False
    for label in labels:
        if not label or label in used:
            continue
        if text == label:
            goes_on = True
            yield (*used, label), None
        elif text.startswith(label + SEPARATOR):
            goes_on = True
            yield from _beginnings(text[len(label) + len(SEPARATOR) :], labels, (*used, label))
    if not goes_on:
        yield used, text


def _quoted_parts(text: str, offer: _Offer) -> Parts | None:
    """The parts of a text with quotes, if we or Claude Code would have written them in this way."""
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
    """Its parts at the separators that stand outside of quotes, None if it is not made of such parts."""
    selected: list[str] = []
    custom: str | None = None
    place = 0
    while custom is None:  # a text of one's own is the last part
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
