"""What agents write stays text: a little Markdown, and nothing that runs, loads or leaves the page."""

from html.parser import HTMLParser

import pytest

from rooms import markup


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
