"""What agents write stays text: a little Markdown, and nothing that runs, loads or leaves the page."""

from collections.abc import Callable
from html.parser import HTMLParser
from time import thread_time

import pytest

from rooms.contract.limits import MESSAGE_LENGTH
from rooms.rendering import markup


class Elements(HTMLParser):
    """The tags and attributes that a browser would see."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attributes]

    def handle_comment(self, data: str) -> None:
        self.tags.add("!--")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("Use `psql` or **wait**?", "Use <code>psql</code> or <strong>wait</strong>?"),
        ("first\nsecond", "first\nsecond"),
        ("# not a heading", "# not a heading"),
        ("<b>bold</b> & <script>x</script>", "&lt;b&gt;bold&lt;/b&gt; &amp; &lt;script&gt;x&lt;/script&gt;"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ],
)
def test_one_paragraph(text: str, html: str) -> None:
    assert markup.inline(text) == html


def test_longer_texts_have_lists_code_and_line_breaks() -> None:
    html = markup.blocks("Done:\n- one\n- two\n\n```\nx < y\n```\nline\nbreak")
    assert "<ul>\n<li>one</li>\n<li>two</li>\n</ul>" in html
    assert "<pre><code>x &lt; y\n</code></pre>" in html
    assert "line<br>\nbreak" in html


def test_links_lead_away_without_telling_where_from() -> None:
    html = markup.inline("[docs](https://example.org/a?b=1&c=2)")
    assert 'href="https://example.org/a?b=1&amp;c=2"' in html
    assert 'target="_blank"' in html
    assert 'rel="noopener noreferrer nofollow"' in html


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](https://evil.example/pixel.png)",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        '[x](https://e.example "onmouseover=alert(1)")',
        '<https://e.example/"onclick=alert(1)>',
        "`<script>alert(1)</script>`",
        "<!--\n<script>alert(1)</script>\n-->",
    ],
)
@pytest.mark.parametrize("render", [markup.inline, markup.blocks])
def test_nothing_runs_and_nothing_is_loaded(text: str, render: object) -> None:
    found = Elements()
    found.feed(render(text))  # type: ignore[operator]
    assert found.tags <= markup.BLOCK_TAGS
    assert {name for name, _ in found.attributes} <= {"href", "target", "rel"}
    for name, value in found.attributes:
        assert name != "href" or value.startswith("https://")


# ---- how long it takes -----------------------------------------------------------------------------------

# Units that are repeated to full length: each makes another rule of the parser work hard.
HOSTILE_UNITS = [
    *("[", "[]", "[a](", "[a](<b", "![", "[[](x)", "[a][", "[<a", "[`", "[**", "**[", "[a](b)["),
    *("[a\n", "[a]: u\n", "[a]: ", "[a](b 'c') ", "[a](http://example.org/x) "),
    *("*", "_", "*a_ ", "*a **a ", "a**b", "x** x* ", "***a ___b ", "*_", "~~a ", "~"),
    *("`", "` ", "`a``b", "\\", "\\*", "<", "<http:", "<!--", "<![CDATA[", "&", "&amp;", "&#x1"),
    *(">", "> a\n", "> - ", "- ", "- a\n", "-\n", "1. ", "1. a\n", "* * * a\n", "    a\n"),
    *("```\n", "``` a\n", "a\n", "a\r", "a  \n", "\n", "---\n", "# ", "a\n=\n", "|a|b|\n|-|-|\n"),
    *("a:", ":", "{", " ", "\t", "😀", "\0"),
]
HOSTILE_TEXTS = {unit: unit * MESSAGE_LENGTH for unit in HOSTILE_UNITS} | {
    "nested brackets": "[" * (MESSAGE_LENGTH // 2) + "]" * (MESSAGE_LENGTH // 2),
    "nested parentheses": "[a](" + "(" * MESSAGE_LENGTH,
    "growing backticks": "".join("a" + "`" * count for count in range(200)),
    "growing fences": "".join("`" * count + "\n" for count in range(3, 200)),
    "growing quotes": "".join(">" * count + "a\n" for count in range(200)),
    "growing lists": "".join("  " * count + "* a\n" for count in range(150)),
    "lazy quote": "> > > > > > > >" + "a\n" * MESSAGE_LENGTH,
    "deep list": "- " * 100 + "\n" + "a\n" * MESSAGE_LENGTH,
    "link references": "".join(f"[r{count}]: u\n" for count in range(800)) + "[r1]" * MESSAGE_LENGTH,
}
# Measured 0.07 s at most, and 0.2 s for many of these before there was a bound.
MOST_CPU_SECONDS = 0.12


def just_affordable(text: str, filling: str) -> str:
    """As much of a hostile text as is still parsed, filled up to full length with a harmless one."""

    def filled(length: int) -> str:
        return f"{text[:length]} {filling * MESSAGE_LENGTH}"[:MESSAGE_LENGTH]

    low, high = 0, MESSAGE_LENGTH
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (low, middle - 1) if markup.is_too_costly(filled(middle)) else (middle, high)
    return filled(low)


def cpu_seconds(render: Callable[[str], str], text: str) -> float:
    begun = thread_time()
    render(text)
    return thread_time() - begun


@pytest.mark.parametrize("hostile", HOSTILE_TEXTS.values(), ids=map(repr, HOSTILE_TEXTS))
def test_hostile_text_of_full_length_takes_little_cpu(hostile: str) -> None:
    for text in (hostile[:MESSAGE_LENGTH], just_affordable(hostile, "a"), just_affordable(hostile, ":")):
        for render in (markup.inline, markup.blocks, markup.plain, markup.teaser):
            # Another try or two for a machine that was busy with something else.
            assert any(cpu_seconds(render, text) < MOST_CPU_SECONDS for _ in range(3))


PLAN = """\
## {number}. Move the *sessions* out of the database

1. Add `CACHES["sessions"]` to `settings.py`, see [the guide](https://docs.example.org/sessions?step={number}#add).
2. Deploy with **both** backends; ~~no~~ little downtime.
   - `web-1` first, then `web-2`
   - watch `redis_connected_clients` and the error rate

```python
SESSIONS = {{"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": f"redis://{{host}}:6379/1"}}
for name in ("web-1", "web-2"):
    deploy(name, wait=True)  # about a minute each
```

> Rolling back is `deploy --previous`, and nothing is lost.

"""


def test_a_plan_of_full_length_is_still_markdown() -> None:
    plan = "".join(PLAN.format(number=number) for number in range(100))[:MESSAGE_LENGTH]
    html = markup.blocks(plan)
    assert html.count("<ol>") == html.count("<blockquote>") == plan.count("Rolling back")
    assert html.count("<strong>both</strong>") == plan.count("**both**")
    assert 'href="https://docs.example.org/sessions?step=19#add"' in html


def test_what_is_too_much_to_parse_is_shown_as_it_was_written() -> None:
    text = "**no** <b>\n" * 1000
    assert markup.inline(text) == "**no** &lt;b&gt;\n" * 1000
    assert markup.blocks(text) == f'<p class="ab-as-written">{markup.inline(text)}</p>'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Use `psql` or **wait**?", "Use psql or wait?"),
        ("See [the plan](https://example.com/a) & ~~not~~ _this_", "See the plan & not this"),
        ("first\n  second", "first second"),
        ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
        ("<b>bold</b> &amp; &copy;", "<b>bold</b> & ©"),
        ("1. PostgreSQL", "1. PostgreSQL"),
        ("> 5 ms", "> 5 ms"),
        ("`__init__.py` or __main__.py", "__init__.py or __main__.py"),
        # What would be nothing without its signs stays as it is.
        ("[](https://example.com)", "[](https://example.com)"),
        ("", ""),
    ],
)
def test_plain_text_is_one_line_without_signs(text: str, shown: str) -> None:
    assert markup.plain(text) == shown


def test_a_teaser_is_one_line_without_signs() -> None:
    text = "The **store**:\n\n- a `table`\n- [a plan](https://example.com)\n\n```sql\nSELECT 1;\n```\n\n> why"
    assert markup.teaser(text) == "The store: a table a plan SELECT 1; why"


def test_a_teaser_reads_only_the_beginning() -> None:
    assert markup.teaser("word " * 2_000) == " ".join(["word"] * (markup.TEASER_CHARACTERS // 5))
