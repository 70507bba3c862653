"""Tones of agents: the colour that an agent sends becomes the nearest of a few that both schemes can show.

Red and amber mean risk and waiting on our pages, so no agent is shown in them; and white or black would not
be seen on one of the schemes. The stored colour stays as the agent sent it. `tokens.css` has the tones.
"""

from colorsys import rgb_to_hls
from functools import lru_cache

# The end of each tone's part of the colour circle, in degrees. Reds and oranges become pink, yellows olive.
HUES = (
    (40, "pink"),
    (150, "olive"),
    (200, "cyan"),
    (226, "blue"),
    (248, "indigo"),
    (310, "violet"),
    (360, "pink"),
)
# Below this saturation a colour is seen as grey.
LEAST_SATURATION = 0.15
# Nearer to black or white than this, the hue is not seen.
LIGHTNESS = (0.08, 0.95)


@lru_cache(maxsize=1024)
def tone_of(color: str) -> str:
    """The name of the tone for `#rrggbb`."""
    red, green, blue = (int(color[start : start + 2], 16) / 255 for start in (1, 3, 5))
    hue, lightness, saturation = rgb_to_hls(red, green, blue)
    if saturation < LEAST_SATURATION or not LIGHTNESS[0] < lightness < LIGHTNESS[1]:
        return "slate"
    return next(name for end, name in HUES if hue * 360 <= end)
