"""Words as a search takes them: without case and accents, the same in every database.

Databases disagree about what a word is: `rooms/history.py` is one to PostgreSQL and three to SQLite. So both
get plain words that were found here, of entries and of what somebody looks for alike.
"""

import re
import unicodedata

# Written without blanks, so that each character is a word; several in a row are found as a phrase.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_]|[\u0300-\u036f])+")

# Letters since Unicode 8 and 12, which SQLite takes for signs and would drop: databases get their numbers.
_SIGNS_TO_SQLITE = {code: f"u{code:x}" for code in (*range(0x19B0, 0x19C1), 0x19C8, 0x19C9, 0x1CF2, 0x1CF3)}

# What of a long word counts: PostgreSQL refuses to look for one of 2,000 bytes, and a hash is known by less.
WORD_LENGTH = 64


def words_of(text: str) -> list[str]:
    """The words of a text, in their order."""
    folded = (fold(word) for word in WORD.findall(text))
    # An accent that stands alone leaves nothing, or a blank: PostgreSQL refuses to look for that.
    return [word for word in folded if any(map(str.isalnum, word))]


def fold(word: str) -> str:
    """As it is compared: `Müller`, `MULLER` and `müller` are one."""
    if word.isascii():
        return word[:WORD_LENGTH].lower()
    letters = unicodedata.normalize("NFKD", word)
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain.casefold().translate(_SIGNS_TO_SQLITE)[:WORD_LENGTH]
