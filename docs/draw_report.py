"""Take the screenshots of ``docs/reading_the_report.md``: the report of occluded digits, in Chromium.

Run it with ``make screenshots``; it needs Chromium (``apt-get install chromium``).
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from treemend import TreeMender
from treemend.demo import occlude

PICTURES = Path(__file__).parent / "pictures"
_SHOWN_ROW = 14


def write_report(path):
    """Occlude every second of 300 digits, mend them, and write the report."""
    rng = np.random.default_rng(0)
    digits = rng.permutation(load_digits().data)
    mender = TreeMender(layout=(8, 8)).fit(digits[:1200])
    mender.mend(occlude(digits[1200:1500], rng).corrupted).report(path, title="Occluded digits")


def take_screenshots(address):
    """Take one picture of what was found where, and one of a row."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1600})
        page.goto(address)
        page.wait_for_selector("#row-chart .main-svg")
        rows = page.locator("#rows").bounding_box()
        page.screenshot(
            path=PICTURES / "report.png",
            full_page=True,
            clip={"x": 0, "y": 0, "width": 1200, "height": rows["y"]},
        )
        page.locator("#list [role=option]").nth(_SHOWN_ROW).click()
        page.locator("#list").evaluate("list => { list.scrollTop = 0; document.activeElement.blur(); }")
        page.mouse.move(0, 0)
        page.locator("#rows").screenshot(path=PICTURES / "report_row.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        write_report(report)
        take_screenshots(report.as_uri())
