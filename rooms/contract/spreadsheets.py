"""Rows as CSV that every spreadsheet reads as the texts they are."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Tells spreadsheets that this is UTF-8; stands at the beginning of a file.
UTF8_MARK = "\ufeff"
# What a spreadsheet would run: the first character that counts, also behind blanks and quotes.
FORMULA = re.compile(r"""[\s"'“”„‘’]*[=+\-@＝＋－＠]|[\t\r\n]""")


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """A line for each row, with no cell that runs."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows([defused(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def defused(cell: Any) -> Any:
    """Text that a spreadsheet would take for a formula stays text: an agent may have written it."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell
