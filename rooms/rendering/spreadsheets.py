"""CSV that spreadsheets read as plain text, never as formulas."""

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

# Byte order mark at the beginning of a file: tells spreadsheets that it is UTF-8.
UTF8_MARK = "\ufeff"
# The beginning of a cell that a spreadsheet would run as a formula, also after blanks and quotes.
FORMULA = re.compile(r"""[\s"'“”„‘’]*[=+\-@＝＋－＠]|[\t\r\n]""")


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """One line per row, with every cell escaped."""
    buffer = io.StringIO()
    csv.writer(buffer).writerows([escaped(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def escaped(cell: Any) -> Any:
    """Quotes a text that a spreadsheet would run as a formula: an agent may have written it."""
    return f"'{cell}" if isinstance(cell, str) and FORMULA.match(cell) else cell
