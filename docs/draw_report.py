"""Take the screenshots of ``docs/reading_the_report.md``: the report of occluded digits, in Chromium.

Run it with ``make screenshots``; it needs Chromium (``apt-get install chromium``).
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from treemend import Mender

PICTURES = Path(__file__).parent / "pictures"
_SHOWN_ROW = 1


def write_reports(folder):
    """Report overwritten waves, and digits of which every second one is partly covered."""
    rng = np.random.default_rng(0)
    columns = np.linspace(0, 6, 48)

    def waves(n_rows):
        phase, height = rng.uniform(0, 6, (n_rows, 1)), rng.uniform(1, 2, (n_rows, 1))
        return height * np.sin(columns + phase) + rng.normal(scale=0.05, size=(n_rows, 48))

    clean, suspect = waves(800), waves(300)
    suspect[::5, 8:20] = rng.uniform(-2, 2, (60, 12))
    suspect[1::10, 30:36] = 0.5
    suspect[2::10, 20:30] += 1.0
    suspect[3::50] += 6.0
    Mender().fit(clean).mend(suspect).report(folder / "waves.html", title="Overwritten waves")

    digits = rng.permutation(load_digits().data)
    covered = digits[1200:1500].reshape(-1, 8, 8).copy()
    for image in covered[::2]:
        top, left = rng.integers(0, 5, 2)
        image[top : top + 4, left : left + 4] = rng.uniform(0, 16, (4, 4))
    mended = Mender(layout=(8, 8)).fit(digits[:1200]).mend(covered.reshape(-1, 64))
    mended.report(folder / "digits.html", title="Occluded digits")


def take_screenshots(folder):
    """Take one picture of what was found where, one of a row, and one of an image."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 1050})
        page.goto((folder / "waves.html").as_uri())
        page.wait_for_selector("#row-chart svg")
        rows = page.locator("#rows").bounding_box()
        clip = {"x": 0, "y": 0, "width": 1200, "height": rows["y"]}
        page.screenshot(path=PICTURES / "report.png", full_page=True, clip=clip)
        page.locator("#rows").screenshot(path=PICTURES / "report_row.png")
        page.goto((folder / "digits.html").as_uri())
        page.locator("#list [role=option]:visible").nth(_SHOWN_ROW).click()
        page.locator("#list").evaluate("list => { list.scrollTop = 0; document.activeElement.blur(); }")
        page.mouse.move(0, 0)
        page.locator("#rows").screenshot(path=PICTURES / "report_image.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        write_reports(Path(name))
        take_screenshots(Path(name))
