"""The tone in which an agent is shown: one of a few, whatever colour it sent."""

import re
from pathlib import Path

import pytest

from rooms.contract.colors import NAMED, PALETTE
from rooms.rendering.tones import HUES, tone_of

TOKENS = Path(__file__).resolve().parents[2] / "rooms/static/ask_bridge/css/tokens.css"
TONES = {"slate"} | {name for _, name in HUES}
LEAST_CONTRAST = 3


def luminance(color: str) -> float:
    parts = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def token(name: str) -> tuple[str, str]:
    """Its value in the light and in the dark scheme."""
    found = re.search(rf"--{name}: light-dark\((#\w+), (#\w+)\);", TOKENS.read_text())
    assert found, name
    return found[1], found[2]


@pytest.mark.parametrize(
    ("color", "tone"),
    [
        ("#818cf8", "indigo"),
        ("#ffffff", "slate"),
        ("#000000", "slate"),
        ("#7d7a72", "slate"),
        (NAMED["red"], "pink"),
        (NAMED["orange"], "pink"),
        (NAMED["yellow"], "olive"),
        (NAMED["green"], "olive"),
        (NAMED["blue"], "blue"),
        ("#ff0001", "pink"),
    ],
)
def test_a_colour_is_shown_in_the_nearest_tone(color: str, tone: str) -> None:
    assert tone_of(color) == tone


@pytest.mark.parametrize("tone", sorted(TONES))
@pytest.mark.parametrize("ground", ["paper", "surface"])
def test_a_tone_is_seen_in_both_schemes(tone: str, ground: str) -> None:
    for color, behind in zip(token(f"tone-{tone}"), token(ground), strict=True):
        assert contrast(color, behind) >= LEAST_CONTRAST


def test_agents_without_a_colour_differ() -> None:
    assert len({tone_of(color) for color in PALETTE}) == len(PALETTE)


@pytest.mark.parametrize("name", ["waiting", "danger", "answered", "muted"])
@pytest.mark.parametrize("ground", ["paper", "surface", "surface-sunk", "waiting-soft", "danger-soft"])
def test_a_text_of_this_colour_can_be_read_in_both_schemes(name: str, ground: str) -> None:
    for color, behind in zip(token(name), token(ground), strict=True):
        assert contrast(color, behind) >= 4.5


def test_sizes_of_text_are_tokens() -> None:
    sizes = re.findall(r"--text[a-z-]*: (\d+)px;", TOKENS.read_text())
    assert sizes == ["12", "13", "15", "17", "22"]
    for path in TOKENS.parent.glob("*.css"):
        assert not re.search(r"\bfont(?:-size)?:[^;]*\dpx[ ;/]", path.read_text()), path.name
