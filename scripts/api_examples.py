"""Write the replies in docs/api.md anew, from a real site: `.venv/bin/python scripts/api_examples.py`.

Run it after a change of what the API says, and read the difference before you commit it.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.docs.reader import ADDRESS, EXAMPLE, HOST, Example, new_reader  # noqa: E402

DOCUMENT = ROOT / "docs" / "api.md"
# An object or a list that fits into a line is read more easily in one.
LINE_LENGTH = 100


def readable(reply: str) -> str:
    """JSON with a line for each field, but for small things."""
    text = json.dumps(json.loads(reply), indent=2, ensure_ascii=False)

    def in_one_line(found: re.Match[str]) -> str:
        joined = re.sub(r"\n\s+", " ", found[2])
        return f"{found[1]}{joined}{found[3]}" if len(joined) < LINE_LENGTH else found[0]

    return re.sub(r"(?<=[ :])([\[{])\n\s+([^\[\]{}]*?)\n\s+([\]}])", in_one_line, text)


def main() -> None:
    text = DOCUMENT.read_text()
    written, done_until = "", 0
    with tempfile.TemporaryDirectory() as folder, new_reader(Path(folder)) as reader:
        _, *found = EXAMPLE.finditer(text)  # the first one is the reader's own address and key
        for each in found:
            example = Example(each["command"], each["label"], each["language"], each["reply"])
            reply = HOST.sub(ADDRESS, reader.run(example))
            if example.language:
                reply = readable(reply) if example.language == "json" else reply
                written += text[done_until : each.start("reply")] + reply + "\n"
                done_until = each.end("reply")
    DOCUMENT.write_text(written + text[done_until:])


if __name__ == "__main__":
    os.chdir(ROOT)
    main()
