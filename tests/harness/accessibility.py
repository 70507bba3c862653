"""WCAG 2.2 AA checks of a page: axe, target sizes, sideways scrolling; both colour schemes, two widths."""

from collections.abc import Callable

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.harness.pages import resize

LOOKS = [(scheme, width) for scheme in ("light", "dark") for width in (320, 1280)]
RULES = {
    "resultTypes": ["violations"],
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
}

# Targets for a finger. A link in a sentence may be as small as its words: WCAG 2.5.8 allows it.
SMALL_TARGETS = """() => {
    const inSentence = (element) => element.matches("a") && getComputedStyle(element).display === "inline"
        && element.parentElement.textContent.trim() !== element.textContent.trim();
    // There for the keyboard only.
    const isClipped = (element) => getComputedStyle(element).clipPath !== "none";
    const targets = "a[href], button, summary, select, textarea, input:not([type=hidden])";
    return [...document.querySelectorAll(targets)]
        .filter((element) => element.checkVisibility({visibilityProperty: true}))
        .filter((element) => !inSentence(element) && !isClipped(element))
        .map((element) => {
            const isTick = element.matches("[type=radio], [type=checkbox]");
            const target = (isTick && (element.closest(".ab-option") || element.closest("label"))) || element;
            const {width, height} = target.getBoundingClientRect();
            const least = target.matches(".ab-option") ? 44 : 24;
            return width >= least && height >= least ? "" :
                `${Math.round(width)}x${Math.round(height)} px: ${target.outerHTML.slice(0, 120)}`;
        })
        .filter(Boolean);
}"""


def axe_problems(page: Page, **options: object) -> list[str]:
    """What axe finds, one readable line each."""
    return [
        f"{rule['id']}: {', '.join(map(str, node['target']))}\n{node['failureSummary']}"
        for rule in Axe().run(page, options=RULES | options).response["violations"]
        for node in rule["nodes"]
    ]


# By the event of each transition: polling would need frames, which a page without scripts may not have.
END_OF_TRANSITIONS = """() => Promise.allSettled(
  document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished)
).then(() => null)"""


def problems(page: Page) -> list[str]:
    """One readable line for each problem of the page in its current state."""
    found = axe_problems(page)
    found += [f"too small a target, {target}" for target in page.evaluate(SMALL_TARGETS)]
    needed = page.evaluate("document.scrollingElement.scrollWidth")
    if needed > page.viewport_size["width"]:
        found.append(f"scrolls sideways: {needed} px")
    return found


def expect_no_problems(page: Page, problems_of: Callable[[Page], list[str]] = problems) -> None:
    found = []
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        resize(page, width, 900)
        # As high as the page: otherwise its floating lower bar would cover parts of it.
        resize(page, width, page.evaluate("document.body.scrollHeight"))
        page.evaluate(END_OF_TRANSITIONS)  # colours between those of two schemes have less contrast
        found += [f"{scheme}, {width} px: {problem}" for problem in problems_of(page)]
    assert not found, "\n\n".join(found)
