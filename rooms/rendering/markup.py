"""Safe HTML from texts of agents and people: a subset of Markdown, no images, no raw HTML.

markdown-it escapes everything that is not Markdown. nh3 then removes all but a few tags, so that safety does
not depend on the parser.

markdown-it is written in Python and takes about 10 µs for each character that could be Markdown: 16,000 of
them would block a thread for 0.2 s. So a text with far more of them than prose, lists or code have is shown
as plain text.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache

import nh3
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

INLINE_TAGS = {"a", "br", "code", "em", "s", "strong"}
# Headings would break the outline of the page: their text is shown as paragraphs.
BLOCK_TAGS = INLINE_TAGS | {"blockquote", "hr", "li", "ol", "p", "pre", "ul"}

# The cost of parsing, in units of about 10 µs: 1 for each of the characters at which it looks for
# inline Markdown (those of its rule "text"), 1 more for a bracket, which may begin a link, 3 for a line,
# where any block may begin.
DELIMITERS = re.compile(r"[!#$%&*+\-:<=>@\[\\\]^_`{}~]")
BRACKET_COST = 1
LINE_COST = 3
LINE_BREAK = re.compile(r"\r\n?|\n")
# Documents with lists, code and links cost 0.06 to 0.17 per character; a short text may be denser. With this
# limit a text of 16,000 characters takes 60 ms at most, one of 2,000 takes 12 ms.
COST_PER_CHARACTER = 0.25
COST_OF_ANY_TEXT = 400

# The part of a long text that is parsed: more than a line holds, even if half of it is link addresses.
TEASER_CHARACTERS = 1_000


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("strikethrough")
    # An image would make the browser of every viewer call its server.
    return parser.disable(["image", "html_block", "html_inline", "heading", "lheading"])


def inline(text: str) -> SafeString:
    """For places that hold one paragraph: emphasis, code and links."""
    if is_too_costly(text):
        return format_html("{}", text)
    # CSS keeps the line breaks there.
    return _clean(_parser().renderInline(text).replace("<br />\n", "\n"), INLINE_TAGS)


def blocks(text: str) -> SafeString:
    """For longer texts: paragraphs, lists, quotes and code as well."""
    if is_too_costly(text):
        return format_html('<p class="ab-as-written">{}</p>', text)
    return _clean(_parser().render(text), BLOCK_TAGS)


def is_too_costly(text: str) -> bool:
    """Whether parsing costs more than for any real text of this length."""
    cost = len(DELIMITERS.findall(text)) + BRACKET_COST * text.count("[")
    cost += LINE_COST * len(LINE_BREAK.findall(text))
    return cost > COST_OF_ANY_TEXT + COST_PER_CHARACTER * len(text)


def plain(text: str) -> str:
    """One line of plain text, for labels, titles and notifications: what `inline` shows, without the tags."""
    words = "" if is_too_costly(text) else _one_line(_words(_parser().parseInline(text)))
    return words or _one_line(text)


def teaser(text: str) -> str:
    """The beginning of a longer text as one line of plain text: what `blocks` shows, without the tags."""
    beginning = text[:TEASER_CHARACTERS]
    words = "" if is_too_costly(beginning) else _one_line(_words(_parser().parse(beginning)))
    return words or _one_line(beginning)


def _words(tokens: Iterable[Token]) -> Iterator[str]:
    for token in tokens:
        if token.children is not None:
            yield from _words(token.children)
        elif token.type.startswith("strong") and token.markup == "__":
            # More often the name of a Python file or method than emphasis: `__init__.py`.
            yield token.markup
        elif token.block or token.type in ("softbreak", "hardbreak"):
            yield f" {token.content} "
        else:
            yield token.content


def _one_line(words: Iterable[str]) -> str:
    return " ".join("".join(words).split())


def _clean(html: str, tags: set[str]) -> SafeString:
    return mark_safe(  # noqa: S308 - nh3 makes it safe
        nh3.clean(
            html,
            tags=tags,
            attributes={"*": set(), "a": {"href"}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )
    )
