"""What agents and people write as safe HTML: a little Markdown, no images, no HTML of their own.

markdown-it escapes everything that is not Markdown, and nh3 lets only these few tags through, whatever the
parser made of the text.
"""

from functools import cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

INLINE_TAGS = {"a", "br", "code", "em", "s", "strong"}
# Headings would break the outline of the page: what they say stays, as paragraphs.
BLOCK_TAGS = INLINE_TAGS | {"blockquote", "hr", "li", "ol", "p", "pre", "ul"}


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("strikethrough")
    # An image would call its server from every reader's browser.
    return parser.disable(["image", "html_block", "html_inline", "heading", "lheading"])


def inline(text: str) -> SafeString:
    """For places that hold one paragraph: emphasis, code and links."""
    # The page keeps line breaks by itself there.
    return _clean(_parser().renderInline(text).replace("<br />\n", "\n"), INLINE_TAGS)


def blocks(text: str) -> SafeString:
    """For longer texts: paragraphs, lists, quotes and code as well."""
    return _clean(_parser().render(text), BLOCK_TAGS)


def _clean(html: str, tags: set[str]) -> SafeString:
    return mark_safe(  # noqa: S308 - this is the place that makes it safe
        nh3.clean(
            html,
            tags=tags,
            attributes={"*": set(), "a": {"href"}},
            url_schemes={"http", "https", "mailto"},
            link_rel="noopener noreferrer nofollow",
            set_tag_attribute_values={"a": {"target": "_blank"}},
        )
    )
