"""Colours of agents: hex or a name as input, always stored as hex."""

import re
from zlib import crc32

from pydantic_core import PydanticCustomError

# The names that agents use (such as sub-agents of Claude Code), in tones that are readable as a stripe on
# white and on black.
NAMED = {
    "red": "#dc4c4c",
    "orange": "#d9662b",
    "yellow": "#c79a12",
    "green": "#3f9a57",
    "cyan": "#1f9aa8",
    "blue": "#4a7fe0",
    "purple": "#8b5cf6",
    "pink": "#d6559b",
    "indigo": "#6a7ff5",
    "teal": "#14887c",
    "gray": "#7d7a72",
    "grey": "#7d7a72",
    "black": "#3a3a38",
    "white": "#d9d6cd",
}

# For agents without a colour: the same name gets the same tone everywhere.
PALETTE = [NAMED[name] for name in ("indigo", "green", "pink", "cyan", "purple", "blue")]


def to_hex(color: str) -> str:
    """`#rrggbb` for `#rgb`, `#rrggbb` or a known name; empty stays empty."""
    color = color.strip().lower()
    if re.fullmatch(r"#[0-9a-f]{6}", color) or not color:
        return color
    if re.fullmatch(r"#[0-9a-f]{3}", color):
        return "#" + "".join(2 * digit for digit in color[1:])
    if color in NAMED:
        return NAMED[color]
    raise PydanticCustomError(
        "color", "must be a colour like #818cf8 or one of: {names}", {"names": ", ".join(NAMED)}
    )


def color_of(name: str) -> str:
    """The colour for an agent that sends none; always the same for the same name."""
    return PALETTE[crc32(name.encode()) % len(PALETTE)]
