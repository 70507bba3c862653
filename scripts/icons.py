"""Make the app's icons from icon.svg with a real browser: `make icons`."""

import shutil
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).resolve().parent.parent / "rooms" / "static" / "ask_bridge"
ROUNDED = (FOLDER / "icon.svg").read_text()
# Devices cut these to their own shape: colour up to the edges, and around the arch more than they cut off.
SQUARE = ROUNDED.replace('viewBox="0 0 32 32"', 'viewBox="-3 -3 38 38"').replace(
    '<rect width="32" height="32" rx="9"', '<rect x="-3" y="-3" width="38" height="38"'
)


def draw(browser: Browser, svg: str, name: str, pixels: int) -> None:
    page = browser.new_page(viewport={"width": pixels, "height": pixels})
    page.set_content(f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{svg}")
    page.screenshot(path=FOLDER / name, omit_background=True)
    page.close()
    print(f"rooms/static/ask_bridge/{name}")


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        draw(browser, ROUNDED, "icon-192.png", 192)
        draw(browser, ROUNDED, "icon-512.png", 512)
        draw(browser, SQUARE, "icon-maskable.png", 512)
        draw(browser, SQUARE, "icon-apple.png", 180)
        browser.close()


if __name__ == "__main__":
    main()
