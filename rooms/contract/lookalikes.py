"""Texts that people tell apart by looking: which characters they may hold, and when two look the same."""

import re
import unicodedata

# Controls, and what breaks a line.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# What changes the direction of the text around it, so that a label reads as another one. The marks of Arabic
# and Hebrew (U+061C, U+200E, U+200F) are no part of it: they are needed beside numbers and punctuation.
TURNING = re.compile("[\u202a-\u202e\u2066-\u206f]")
# What takes no room, or the room of a space: two labels could differ in nothing else.
INVISIBLE = re.compile(
    "[\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u2800\u3164\ufeff\uffa0\ufff9-\ufffc"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
# The flags of England, Scotland and Wales are a black flag with tags behind it.
TAGGED_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f")
# Direction marks, joiners of emoji and of several scripts, selectors of a variant: allowed, not seen alone.
JOINING = re.compile("[\u061c\u180b-\u180d\u200c-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef]")

# Letters that look like a Latin one: of Unicode's list of confusable characters those that keyboards have.
CYRILLIC = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
LIKE_CYRILLIC = "ABEKMHOPCTYXSIJ"
SMALL_CYRILLIC = "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
LIKE_SMALL_CYRILLIC = "aeopcyxsijhdqw"
GREEK = "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd"
LIKE_GREEK = "ABEZHIKMNOPTYXov"
_TWINS = str.maketrans(CYRILLIC + SMALL_CYRILLIC + GREEK, LIKE_CYRILLIC + LIKE_SMALL_CYRILLIC + LIKE_GREEK)


def what_cannot_be_shown(text: str) -> str:
    """What is wrong with a text of one line that people read and click; empty if nothing is."""
    if found := CONTROLS.search(text):
        return f"must be one line without control characters, but holds {_code(found.group())}"
    if found := TURNING.search(text):
        return f"must not change the direction of text, but holds {_code(found.group())}"
    if found := INVISIBLE.search(TAGGED_FLAG.sub("", text)):
        return f"must not hold invisible characters, but holds {_code(found.group())}"
    if text.strip() and not JOINING.sub("", text).strip():
        return "must hold something that can be seen"
    return ""


def skeleton(text: str) -> str:
    """The same for texts that look the same, whatever blanks, capitals or look-alike letters they have.

    Capitals count where there is only one letter: -v and -V are two options of many programs.
    """
    seen = JOINING.sub("", INVISIBLE.sub("", TURNING.sub("", CONTROLS.sub(" ", text))))
    latin = unicodedata.normalize("NFKC", seen).translate(_TWINS)
    words = " ".join(latin.split())
    # Not casefold: a sharp s is no pair of them.
    return words.lower() if sum(map(str.isalpha, words)) > 1 else words


def first_pair(texts: list[str]) -> tuple[str, str] | None:
    """The first two that look the same."""
    known: dict[str, str] = {}
    for text in texts:
        shape = skeleton(text)
        if shape in known:
            return known[shape], text
        known[shape] = text
    return None


def one_line(text: str) -> str:
    """A name without line breaks and without characters that cannot be seen."""
    return " ".join(INVISIBLE.sub("", TURNING.sub("", CONTROLS.sub(" ", text))).split())


def spelled_out(text: str) -> str:
    """In quotes, with the code of every character that cannot be told by looking at it."""
    return (
        '"' + "".join(char if char.isascii() and char.isprintable() else _code(char) for char in text) + '"'
    )


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"
