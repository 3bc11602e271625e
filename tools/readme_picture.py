"""Take the README's pictures of the report, light and dark: a variant that fails, opened.

python tools/readme_picture.py

It needs Chromium (``apt-get install chromium``). The pictures differ with its fonts, so no test
compares them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SUITE = "example_suites/failing_gate"
_WINDOW = {"width": 1100, "height": 745}
_MOST_BYTES = 200_000


def report(folder: Path) -> Path:
    """Run the failing gate with an empty store. Return its report."""
    page = folder / "report.html"
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:cacheprovider"),
            *("--promptse-model", "tiny", "--promptse-report", f"html:{page}"),
            *("--promptse-store", str(folder / "store"), SUITE),
        ],
        cwd=ROOT,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 1:
        sys.exit(f"the failing gate ended with {answer.returncode}\n{answer.stdout}{answer.stderr}")
    return page


def take(browser: Browser, page: Path, scheme: Literal["light", "dark"]) -> None:
    """Save the drawer of the most harmful variant, as high as the window."""
    context = browser.new_context(viewport=_WINDOW, color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.locator("#harmful .opens").first.click()
    box = tab.locator("dialog[open]").bounding_box()
    if box is None:
        sys.exit("the report shows no variant")
    box["height"] = min(box["height"], _WINDOW["height"])
    picture = IMAGES / f"report-{scheme}.png"
    tab.screenshot(path=picture, clip=box)
    context.close()
    if picture.stat().st_size > _MOST_BYTES:
        sys.exit(f"{picture} has over {_MOST_BYTES:,} bytes")


def main() -> None:
    """Write both pictures."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("there is no Chromium: apt-get install chromium")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = report(Path(folder))
        browser = driver.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-background-networking"]
        )
        take(browser, page, "light")
        take(browser, page, "dark")
        browser.close()


if __name__ == "__main__":
    main()
