"""The report in a real browser: Debian's Chromium, driven by Playwright. Skipped, with the reason, where it is not."""

import shutil
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.report.examples import NASTY, some_findings
from tests.rows import correlated_rows, overwrite

from treemend import TreeMender
from treemend.demo import occlude
from treemend.report import summarise, write_html

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
KINDS = ("digits", "table")
DESK, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory, browser):
    """One report of each kind, made the way a user makes it."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(0)
    digits = rng.permutation(load_digits().data)
    suspects = occlude(digits[600:680], rng).corrupted
    TreeMender(layout=(8, 8)).fit(digits[:600]).mend(suspects).report(folder / "digits.html")
    _table(rng).report(folder / "table.html", title=NASTY)
    nothing = some_findings(5)
    nothing = replace(nothing, mask=np.zeros_like(nothing.mask), missing=None, names=None, node_scores=None)
    write_html(summarise(nothing), folder / "nothing.html")
    return folder


def _table(rng):
    import pandas as pd

    names = [NASTY if column == 0 else f"<b>sensor</b> {column:03d}" for column in range(300)]
    clean, suspects = correlated_rows(rng, 250, 300), correlated_rows(rng, 40, 300)
    suspects[::2] = overwrite(rng, suspects[::2])[0]
    suspects[0, :4] = 1e4
    suspects[1, 7] = np.nan
    index = [f"<i>day</i> {row}" for row in range(40)]
    mender = TreeMender(false_alarm_rate=0.2, imputation="mean").fit(pd.DataFrame(clean, columns=names))
    return mender.mend(pd.DataFrame(suspects, columns=names, index=index))


@dataclass
class Opened:
    """A page, and everything it did that it should not have done."""

    page: object
    faults: list = field(default_factory=list)

    def data(self, chart="row-chart"):
        return self.page.evaluate(
            "id => JSON.parse(JSON.stringify(document.getElementById(id).data.map(t => [t.name, t.x, t.y])))", chart
        )

    def shown(self):
        return self.page.locator("#list [role=option]:visible").count()

    def start_again(self):
        self.page.fill("#search", "")
        self.page.locator("#list [role=option]").first.click()
        self.page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
        return self


def watched(browser, path, viewport, **more):
    """Open a report and note every message, error, dialog and request."""
    page = browser.new_context(viewport=viewport, **more).new_page()
    opened = Opened(page)
    page.on("console", lambda message: opened.faults.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: opened.faults.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (opened.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: opened.faults.append(f"request: {request.url}"))
    page.goto(path.as_uri())
    page.wait_for_selector("#row-chart .main-svg")
    opened.faults = [fault for fault in opened.faults if fault != f"request: {path.as_uri()}" and "data:," not in fault]
    return opened


@pytest.fixture(scope="module")
def pages(browser, reports):
    """Every report opened once on a desk; each test starts again from the first row."""
    return {kind: watched(browser, reports / f"{kind}.html", DESK) for kind in (*KINDS, "nothing")}


@pytest.fixture(params=KINDS)
def either(request, pages):
    return pages[request.param].start_again()


@pytest.fixture
def digits(pages):
    return pages["digits"].start_again()


@pytest.fixture
def table(pages):
    return pages["table"].start_again()


@pytest.mark.parametrize("kind", [*KINDS, "nothing"])
def test_opens_without_a_fault_and_fits_the_screen(pages, kind):
    assert pages[kind].faults == []
    assert pages[kind].page.evaluate("document.documentElement.scrollWidth") <= DESK["width"]


@pytest.mark.parametrize("kind", KINDS)
def test_fits_a_phone(browser, reports, kind):
    report = watched(browser, reports / f"{kind}.html", PHONE, has_touch=True, is_mobile=True)
    assert report.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    title = report.page.inner_text("#chosen-title")
    report.page.get_by_role("button", name="Next row").tap()
    assert report.page.inner_text("#chosen-title") != title
    assert report.faults == []
    report.page.context.close()


def test_choosing_a_row_changes_its_charts(either):
    page = either.page
    assert page.locator("#list [aria-selected=true]").count() == 1
    title, row, tree = page.inner_text("#chosen-title"), either.data(), either.data("tree-chart")
    lines = page.inner_text("#value-lines")
    page.locator("#list [role=option]").nth(2).click()
    assert page.inner_text("#chosen-title") != title
    assert either.data() != row
    assert either.data("tree-chart") != tree
    assert page.inner_text("#value-lines") != lines
    assert page.locator("#list [aria-selected=true]").get_attribute("data-index") == "2"
    assert {"kept", "as it came", "put back", "donors' spread"} <= {name for name, _, _ in either.data()}
    assert page.evaluate("document.getElementById('row-chart').layout.shapes.length") > 0
    page.get_by_role("button", name="Previous row").click()
    assert page.locator("#list [aria-selected=true]").get_attribute("data-index") == "1"
    assert either.faults == []


def test_grids_show_pictures_that_change(digits):
    page = digits.page
    assert page.locator("#pictures figcaption").all_inner_texts() == ["before", "found", "after", "donors' spread"]
    paint = "[...document.querySelectorAll('#pictures canvas')].map(one => one.toDataURL())"
    before = page.evaluate(paint)
    assert len(set(before)) == 4
    page.locator("#list [role=option]").nth(3).click()
    assert not set(page.evaluate(paint)) & set(before)
    assert page.locator("#list canvas").count() == page.locator("#list [role=option]").count()


def test_a_row_says_why_in_words(either):
    page = either.page
    page.locator("#list [role=option]").nth(0).click()
    assert "reference rows show" in page.inner_text("#chosen-why")
    spoken = page.evaluate("JSON.parse(document.getElementById('summary').textContent).rows[0].explanation")
    assert ("another explanation" in page.inner_text("#tree-hint")) == (spoken != "search")
    assert page.locator(".top.wordy li").count() >= 1


def test_search_filters(either):
    page = either.page
    everything = either.shown()
    page.fill("#search", page.locator("#list [role=option] .name").nth(1).inner_text())
    assert 0 < either.shown() < everything
    assert "among" in page.inner_text("#status")
    page.fill("#search", "nothing is called that")
    assert either.shown() == 0
    assert page.inner_text("#status").startswith("0 matches")
    page.fill("#search", "")
    assert either.shown() == everything


def test_search_knows_attributes(table):
    table.page.fill("#search", "<B>sensor</b> 107")
    assert 0 < table.shown() < table.page.locator("#list [role=option]").count()


def test_keyboard_reaches_everything(table):
    page = table.page
    first = "document.querySelector('a, button, input, [tabindex]')"
    assert page.evaluate(f"{first}.textContent") == "Skip to the list of rows"
    page.evaluate(f"{first}.focus()")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "rows"
    page.focus("#search")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    title = page.inner_text("#chosen-title")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.index") == "1"
    assert page.inner_text("#chosen-title") != title
    page.keyboard.press("End")
    last = page.locator("#list [role=option]").count() - 1
    assert page.evaluate("document.activeElement.dataset.index") == str(last)
    assert page.locator("#list [role=option][tabindex='0']").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "previous"
    page.fill("#search", page.locator("#list [role=option] .name").nth(3).inner_text())
    page.press("#search", "Enter")
    assert page.evaluate("document.activeElement.dataset.index") == "3"


def test_names_from_the_data_stay_text(table):
    page = table.page
    assert page.locator("script").count() == 3
    assert page.inner_text(".kicker").lower() == NASTY
    assert page.locator("#list b, #list i, #list script").count() == 0
    assert page.locator("#list .name").first.inner_text().startswith("<i>day</i>")
    ticks = page.locator("#map .xtick text, #row-chart .xtick text")
    assert any(text.startswith("<script>") for text in ticks.all_text_contents())
    assert page.locator(".chart .xtick tspan[style*=bold]").count() == 0
    page.locator("#list [role=option]").nth(1).click()
    page.fill("#search", NASTY)
    assert table.shown() > 0
    page.evaluate("Plotly.Fx.hover('row-chart', [{curveNumber: 1, pointNumber: 299}])")
    assert any("<b>sensor</b> 299" in text for text in page.locator("#row-chart .hoverlayer text").all_text_contents())
    assert table.faults == []


def test_policy_stops_foreign_scripts(browser, reports):
    report = watched(browser, reports / "nothing.html", DESK)
    report.page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.harmed = true';"
        "document.body.append(one); document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"harmed=1\">') }"
    )
    report.page.wait_for_timeout(50)
    assert report.page.evaluate("window.harmed") is None
    assert any("Content Security Policy" in fault for fault in report.faults)


def test_a_zoom_is_shared_by_row_and_tree(table):
    page = table.page
    page.evaluate("Plotly.relayout('row-chart', {'xaxis.range[0]': 40, 'xaxis.range[1]': 60})")
    page.wait_for_function("document.getElementById('tree-chart').layout.xaxis.range[0] === 40")
    assert page.evaluate("document.getElementById('row-chart').layout.xaxis.ticktext.length") >= 2


def test_units_can_be_changed(table):
    before = table.data()
    other = table.page.locator("#units [aria-pressed=false]")
    other.click()
    assert table.data() != before
    assert table.page.locator("#units [aria-pressed=true]").count() == 1


def test_a_click_on_the_map_chooses_the_row(digits):
    page = digits.page
    row = page.evaluate("JSON.parse(document.getElementById('summary').textContent).rows[5].row")
    page.evaluate(
        f"document.getElementById('map').emit('plotly_click', {{points: [{{y: {row}, data: {{type: 'heatmap'}}}}]}})"
    )
    assert page.inner_text("#chosen-title").startswith(f"Row {row}:")


def test_prints_within_the_paper(either):
    assert either.page.pdf(format="A4").startswith(b"%PDF")
    widths = "[...document.querySelectorAll('.chart .main-svg')].map(one => one.clientWidth)"
    either.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    either.page.wait_for_function(f"{widths}.every(width => width === 660)")
    either.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    either.page.wait_for_function(f"!{widths}.includes(660)")
    assert either.faults == []
