"""Our pages inside a portal with Bootstrap, Tailwind's preflight or Bulma: they look as they do without it.

The portal is examples/portal with a sidebar, a root size of 10 pixels, and the style sheet of a framework.
The look of our elements is compared, property by property, with the same portal without a style sheet.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.harness.agents import Agent
from tests.harness.pages import mark_open_streams, wait_for_still_cards, wait_for_stream
from tests.harness.shared_folder import made_once
from tests.harness.sites import ROOT
from tests.portal.machines import Machine
from tests.portal.portals import Portal
from tests.portal.test_sample_portal import PASSWORD, PEOPLE, PREFIX

FRAMEWORKS = {
    "bootstrap": ("bootstrap@5.3.8", "node_modules/bootstrap/dist/css/bootstrap.css"),
    "tailwind": ("tailwindcss@4.3.5", "node_modules/tailwindcss/preflight.css"),
    "bulma": ("bulma@1.0.4", "node_modules/bulma/css/bulma.css"),
}
# A portal with a sidebar of its own, its own <main>, and a scheme that the address of a page sets.
BASE = """{% load static %}<!doctype html>
<html lang="de" {% for name, scheme in request.GET.items %}{{ name }}="{{ scheme }}"{% endfor %}>
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>{% block title %}Portal{% endblock %}</title>
  {% block head %}{% endblock %}
  <link rel="stylesheet" href="{% static 'portal/theme.css' %}">
</head>
<body><div class="host">
  <aside class="host-side">Portal</aside>
  <main class="host-main">{% block content %}{% endblock %}</main>
</div></body>
</html>
"""
FRAME = """
html { font-size: 10px; }
body { margin: 0; }
.host { display: flex; }
.host-side { flex: none; width: 240px; }
.host-main { flex: 1; min-width: 0; }
@media (max-width: 700px) { .host-side { display: none; } }
"""
# What makes up the look of an element. Widths and heights follow from these, and from the frame.
LOOKS = """() => {
  const names = ["display", "position", "float", "boxSizing", "cursor", "appearance", "listStyleType",
    "fontFamily", "fontSize", "fontWeight", "fontStyle", "lineHeight", "letterSpacing", "textTransform",
    "textAlign", "textDecorationLine", "color", "backgroundColor", "backgroundImage", "boxShadow", "opacity",
    ...["Top", "Right", "Bottom", "Left"].flatMap((side) =>
      [`padding${side}`, `border${side}Width`, `border${side}Style`, `border${side}Color`]),
    "borderTopLeftRadius", "marginTop", "marginBottom", "outlineStyle"];
  const all = [...document.querySelectorAll(".ask-bridge *")].filter((element) => !element.closest("svg"));
  return all.map((element) => {
    const style = getComputedStyle(element);
    const looks = names.map((name) => `${name}: ${style[name]}`);
    return [`${element.localName}.${element.className}`, looks];
  });
}"""
# In the same page, which otherwise stays as it is.
LOAD_STYLE_AGAIN = """() => new Promise((loaded) => {
  const before = document.querySelector("link[href*='portal/theme.css']");
  const after = before.cloneNode();
  after.href = `${before.href}?again`;
  after.onload = () => { before.remove(); requestAnimationFrame(() => requestAnimationFrame(loaded)); };
  before.after(after);
})"""
OVERHANGING = """() => {
  const frame = document.querySelector(".ask-bridge").getBoundingClientRect();
  const hidden = ".ab-sr-only, .ab-skip-link";
  const shown = [...document.querySelectorAll(".ask-bridge *")].filter(
    (element) => element.checkVisibility({ checkOpacity: true }) && !element.closest(hidden));
  const isScrolled = (element) => {
    for (let box = element.parentElement; box; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return true;
    return false;
  };
  return shown
    .filter((element) => !isScrolled(element) && element.getBoundingClientRect().right > frame.right + 1)
    .map((element) => `${element.localName}.${element.className}`);
}"""
SMALLEST_TEXT = """() => Math.min(...[...document.querySelectorAll(".ask-bridge *")]
  .filter((element) => element.checkVisibility() && [...element.childNodes].some(
    (node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()))
  .map((element) => parseFloat(getComputedStyle(element).fontSize)))"""


def install_frameworks(folder: Path) -> None:
    """Fetch the frameworks from the npm registry."""
    if shutil.which("npm") is None:
        missing = "needs npm, to fetch style sheets of portals: install the package npm"
        pytest.fail(missing) if os.environ.get("CI") == "true" else pytest.skip(missing)
    packages = [package for package, _ in FRAMEWORKS.values()]
    command = ["npm", "install", "--prefix", str(folder), "--no-save", "--ignore-scripts", *packages]
    subprocess.run(command, check=True, capture_output=True, cwd=folder)


@pytest.fixture(scope="module")
def frameworks() -> Path:
    with made_once("portal-styles", install_frameworks) as folder:
        return folder


class StyledPortal:
    """The sample portal with another style sheet."""

    def __init__(self, machine: Machine, folder: Path) -> None:
        shutil.copytree(
            ROOT / "examples" / "portal", folder, ignore=shutil.ignore_patterns("*.sqlite3", ".venv")
        )
        self.folder = folder
        (folder / "portal/templates/base.html").write_text(BASE)

        def manage(*arguments: str) -> str:
            return machine.check("python", "manage.py", *arguments, cwd=folder)

        manage("migrate", "--verbosity", "0")
        manage("createroom", "plattform", "--name", "Team Plattform")
        manage("shell", "-v0", "-c", PEOPLE % (PASSWORD, PASSWORD))
        key = manage("createkey", "plattform", "--label", "first-agent").strip()
        server = [str(machine.python), "manage.py", "runserver", "PORT", "--noreload"]
        self.portal = Portal(server, folder, machine.environment(), PREFIX)
        self.agent: Agent = self.portal.agent("plattform", key)
        self.ana = self.portal.person("ana", PASSWORD, "/anmelden/")

    def wear(self, style_sheet: str) -> None:
        """Put on this style sheet, after ours."""
        (self.folder / "portal/static/portal/theme.css").write_text(style_sheet + FRAME)


@pytest.fixture(scope="module")
def styled(portal_machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StyledPortal]:
    styled = StyledPortal(portal_machine, tmp_path_factory.mktemp("styled") / "portal")
    styled.agent.ask()
    styled.agent.ask(
        questions=[
            {
                "question": "What to test?",
                "header": "Tests",
                "multiSelect": True,
                "options": ["Units", "Pages"],
            },
            {"question": "When?", "options": ["Now", "Later"]},
        ]
    )
    settled = styled.agent.ask()
    form = styled.ana.form_of(settled)
    name, value = form["fields"]["SQLite"]
    styled.ana.post(form["action"], {name: value})
    try:
        yield styled
    finally:
        styled.portal.end()


@pytest.fixture
def show(styled: StyledPortal, chromium: Browser) -> Iterator[Callable[..., Page]]:
    pages: list[Page] = []

    def start(path: str, width: int = 1280, **options: Any) -> Page:
        origin = f"http://127.0.0.1:{styled.portal.port}"
        page = chromium.new_page(
            base_url=origin,
            viewport={"width": width, "height": 900},
            reduced_motion="reduce",
            **options,
        )
        pages.append(page)
        page.context.add_cookies(
            [{"name": name, "value": value, "url": origin} for name, value in styled.ana.cookies.items()]
        )
        mark_open_streams(page)
        page.goto(f"{PREFIX}{path}")
        wait_for_stream(page)
        wait_for_still_cards(page)
        return page

    yield start
    for page in pages:
        page.close()


PAGES = ["/", "/rooms/plattform", "/settings", "/rooms/plattform/connect", "/history"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_framework_of_the_portal_changes_no_look_of_ours(
    styled: StyledPortal, frameworks: Path, show: Callable[..., Page], framework: str, path: str
) -> None:
    styled.wear("")
    page = show(path)
    expected = page.evaluate(LOOKS)
    styled.wear((frameworks / FRAMEWORKS[framework][1]).read_text())
    page.evaluate(LOAD_STYLE_AGAIN)
    found = page.evaluate(LOOKS)
    assert [name for name, _ in found] == [name for name, _ in expected]
    changed = {
        f"{name}: {before} -> {after}"
        for (name, looks), (_, others) in zip(expected, found, strict=True)
        for before, after in zip(looks, others, strict=True)
        if before != after
    }
    assert changed == set()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_nothing_hangs_out_of_the_portal_and_no_text_is_tiny(
    styled: StyledPortal, frameworks: Path, show: Callable[..., Page], framework: str, width: int
) -> None:
    styled.wear((frameworks / FRAMEWORKS[framework][1]).read_text())
    for path in PAGES:
        page = show(path, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
        assert page.evaluate(OVERHANGING) == [], path
        assert page.evaluate(SMALLEST_TEXT) >= 11, path
        page.context.close()


def test_the_portal_has_the_only_main(styled: StyledPortal, show: Callable[..., Page]) -> None:
    styled.wear("")
    assert show("/rooms/plattform").locator("main, [role=main]").count() == 1


def test_a_header_of_the_portal_pushes_no_end_of_the_rail_out_of_the_window(
    styled: StyledPortal, show: Callable[..., Page]
) -> None:
    styled.wear("body { padding-top: 300px; }")
    page = show("/settings")
    own = page.locator(".ab-rail-user")
    expect(own.get_by_role("link", name="Einstellungen")).to_be_in_viewport(ratio=1)
    expect(own.locator(".ab-rail-version")).to_be_in_viewport(ratio=1)
    page.evaluate("scrollTo(0, 300)")
    expect(page.locator(".ab-brand")).to_be_in_viewport(ratio=1)
    expect(own.locator(".ab-rail-version")).to_be_in_viewport(ratio=1)


PAPER = {"light": "rgb(246, 245, 241)", "dark": "rgb(18, 19, 18)"}


def paper(page: Page) -> str:
    return str(page.locator(".ask-bridge").evaluate("element => getComputedStyle(element).backgroundColor"))


@pytest.mark.parametrize("attribute", ["data-theme", "data-bs-theme", "class"])
@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_the_portal_sets_the_colour_scheme(
    styled: StyledPortal, show: Callable[..., Page], attribute: str, scheme: str, other: Any
) -> None:
    styled.wear(f":root {{ color-scheme: {other}; }}")
    page = show(f"/rooms/plattform?{attribute}={scheme}", color_scheme=other)
    assert paper(page) == PAPER[scheme]


@pytest.mark.parametrize(("declared", "shown"), [("normal", "light"), ("light dark", "dark")])
def test_a_dark_system_makes_only_a_portal_dark_that_says_it_can_be(
    styled: StyledPortal, show: Callable[..., Page], declared: str, shown: str
) -> None:
    styled.wear(f":root {{ color-scheme: {declared}; }}")
    page = show("/rooms/plattform", color_scheme="dark")
    assert paper(page) == PAPER[shown]
