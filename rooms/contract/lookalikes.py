"""Look-alike texts: characters that people cannot see, and labels that look the same."""

import re
import unicodedata

# Control characters and line breaks.
CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
# Change the direction of the text around them, so that a label reads as another one. The marks of Arabic and
# Hebrew (U+061C, U+200E, U+200F) are allowed: they are needed beside numbers and punctuation.
BIDI_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u206f]")
# Have no width, or look like a space: two labels could differ in these alone.
INVISIBLE = re.compile(
    "[\xad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060-\u2065\u2800\u3164\ufeff\uffa0\ufff9-\ufffc"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
# The flags of England, Scotland and Wales are a black flag followed by tag characters.
TAGGED_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{1,8}\U000e007f")
# Direction marks, joiners of emoji and of several scripts, variant selectors: allowed, but invisible alone.
JOINING = re.compile("[\u061c\u180b-\u180d\u200c-\u200f\ufe00-\ufe0f\U000e0100-\U000e01ef]")

# Letters that look like a Latin one: the confusable characters of Unicode that are on keyboards.
CYRILLIC = "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0405\u0406\u0408"
LIKE_CYRILLIC = "ABEKMHOPCTYXSIJ"
SMALL_CYRILLIC = "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u04bb\u0501\u051b\u051d"
LIKE_SMALL_CYRILLIC = "aeopcyxsijhdqw"
GREEK = "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03bf\u03bd"
LIKE_GREEK = "ABEZHIKMNOPTYXov"
_TWINS = str.maketrans(CYRILLIC + SMALL_CYRILLIC + GREEK, LIKE_CYRILLIC + LIKE_SMALL_CYRILLIC + LIKE_GREEK)


def problem_with_caption(text: str) -> str:
    """What is wrong with a one-line text that people read and click; empty if nothing is."""
    if found := CONTROLS.search(text):
        return f"must be one line without control characters, but holds {_code(found.group())}"
    if found := BIDI_CONTROLS.search(text):
        return f"must not change the direction of text, but holds {_code(found.group())}"
    if found := INVISIBLE.search(TAGGED_FLAG.sub("", text)):
        return f"must not hold invisible characters, but holds {_code(found.group())}"
    if text.strip() and not JOINING.sub("", text).strip():
        return "must hold something that can be seen"
    return ""


def skeleton(text: str) -> str:
    """Equal for texts that look the same, whatever their spaces, capitals and look-alike letters.

    In a text with one letter capitals count: -v and -V are two options of many programs.
    """
    seen = JOINING.sub("", INVISIBLE.sub("", BIDI_CONTROLS.sub("", CONTROLS.sub(" ", text))))
    latin = unicodedata.normalize("NFKC", seen).translate(_TWINS)
    words = " ".join(latin.split())
    # Not casefold: it makes ss of a sharp s.
    return words.lower() if sum(map(str.isalpha, words)) > 1 else words


def first_pair(texts: list[str]) -> tuple[str, str] | None:
    """The first two texts that look the same."""
    known: dict[str, str] = {}
    for text in texts:
        shape = skeleton(text)
        if shape in known:
            return known[shape], text
        known[shape] = text
    return None


def one_line(text: str) -> str:
    """A name without line breaks and without characters that cannot be seen."""
    return " ".join(INVISIBLE.sub("", BIDI_CONTROLS.sub("", CONTROLS.sub(" ", text))).split())


def spelled_out(text: str) -> str:
    """The text in quotes, with the code point instead of every character that is not printable ASCII."""
    return (
        '"' + "".join(char if char.isascii() and char.isprintable() else _code(char) for char in text) + '"'
    )


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"
