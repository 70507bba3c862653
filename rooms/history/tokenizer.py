"""Tokenizer of the history search: words without case and accents, the same for every database.

Databases disagree about what a word is: `rooms/history.py` is one to PostgreSQL and three to SQLite. So both
get plain words that are split here, in the same way for entries and for search terms.
"""

import re
import unicodedata

# Scripts without spaces: each character is a word, and several in a row are found as a phrase.
_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_]|[\u0300-\u036f])+")

# Letters since Unicode 8 and 12, which SQLite treats as punctuation and would drop: stored as code points.
_PUNCTUATION_TO_SQLITE = {
    code: f"u{code:x}" for code in (*range(0x19B0, 0x19C1), 0x19C8, 0x19C9, 0x1CF2, 0x1CF3)
}

# Longer words are cut: PostgreSQL refuses to search for 2,000 bytes, and a hash is unique with fewer.
WORD_LENGTH = 64


def words_of(text: str) -> list[str]:
    """The words of a text, in order."""
    folded = (fold(word) for word in WORD.findall(text))
    # A lone accent becomes empty or a space, which PostgreSQL refuses to search for.
    return [word for word in folded if any(map(str.isalnum, word))]


def fold(word: str) -> str:
    """Normalised for comparison: `Müller`, `MULLER` and `müller` are the same."""
    if word.isascii():
        return word[:WORD_LENGTH].lower()
    letters = unicodedata.normalize("NFKD", word)
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return plain.casefold().translate(_PUNCTUATION_TO_SQLITE)[:WORD_LENGTH]
