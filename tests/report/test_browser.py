"""The report in a real browser: Chromium, driven by Playwright. Skipped, with the reason, where it is not installed."""

import csv
import io
import shutil
from dataclasses import dataclass, field

import numpy as np
import pytest
from tests.report.examples import NASTY, nothing_found, some_findings

from treemend.report import KINDS, Findings, Rule, as_json, findings_table, summarise, write_html

pytestmark = pytest.mark.slow

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
REPORTS = ("images", "table", "long", "tree")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
NAMES = [NASTY if column == 30 else f"<b>sensor</b> {column:03d}" for column in range(60)]
IDS = [f"<i>day</i> {row}" for row in range(90)]
LOW = np.linspace(-9, -2, 60)
TABLE = some_findings(90, 60, names=NAMES, row_ids=IDS, notes=("Drift in sensor 3.",), reference_low=LOW)
FIXED = some_findings(90, 60, names=NAMES, row_ids=IDS, seed=5)
IMAGES = some_findings(40, 192, grid=(8, 8, 3))
LONG = some_findings(10_000, 12, names=[f"column_with_a_long_name_{k}" for k in range(12)], rule=Rule("fdr", 0.1, 500))
TREE = some_findings(30, 32, tree_depth=3, kinds=None, p_values=None, cell_evidence=None, spread=None)


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
def reports(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    units = {NAMES[20]: "°C", NAMES[2]: "hPa"}
    write_html(summarise(TABLE, labels={NAMES[4]: "Inlet"}, units=units), folder / "table.html", title=NASTY)
    write_html(summarise(FIXED), folder / "fixed.html")
    (folder / "fixed.json").write_text(as_json({"summary": summarise(FIXED)}))
    write_html(summarise(TABLE), folder / "compared.html", earlier=summarise(FIXED))
    write_html(summarise(IMAGES), folder / "images.html")
    write_html(summarise(LONG), folder / "long.html")
    write_html(summarise(TREE), folder / "tree.html")
    write_html(summarise(nothing_found(some_findings(5))), folder / "nothing.html")
    return folder


@dataclass
class Opened:
    """A page, and everything it did that it should not have done."""

    page: object
    faults: list = field(default_factory=list)

    def paths(self, kind):
        return self.page.locator(f"#row-chart path.{kind}").evaluate_all("all => all.map(one => one.getAttribute('d'))")

    def shown(self):
        return self.page.locator("#list [role=option]:visible").count()

    def listed(self):
        """Numbers of the rows in the list, from top to bottom."""
        ids = self.page.locator("#list [role=option]:visible").evaluate_all("all => all.map(one => one.id)")
        return [int(one.removeprefix("row-")) for one in ids]

    def start_again(self):
        page = self.page
        page.fill("#search", "")
        page.fill("#column", "")
        page.evaluate("document.getElementById('kind').value = ''")
        page.select_option("#sort", "worst")
        page.locator("#groups button").first.click()
        page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
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
    page.wait_for_selector("#groups button")
    own = (path.as_uri(), "data:")
    opened.faults = [fault for fault in opened.faults if not fault.removeprefix("request: ").startswith(own)]
    return opened


@pytest.fixture(scope="module")
def pages(browser, reports):
    """Every report opened once on a desktop; each test starts again from the first row."""
    return {kind: watched(browser, reports / f"{kind}.html", DESKTOP) for kind in (*REPORTS, "nothing")}


@pytest.fixture
def images(pages):
    return pages["images"].start_again()


@pytest.fixture
def table(pages):
    return pages["table"].start_again()


@pytest.fixture
def long(pages):
    return pages["long"].start_again()


@pytest.fixture
def tree(pages):
    return pages["tree"].start_again()


@pytest.mark.parametrize("kind", [*REPORTS, "nothing"])
def test_opens_without_a_fault_and_fits_the_screen(pages, kind):
    assert pages[kind].faults == []
    assert pages[kind].page.evaluate("document.documentElement.scrollWidth") <= DESKTOP["width"]


@pytest.mark.parametrize("kind", REPORTS)
def test_fits_a_phone_and_no_tick_is_clipped(browser, reports, kind):
    report = watched(browser, reports / f"{kind}.html", PHONE, has_touch=True, is_mobile=True)
    page = report.page
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    boxes = page.locator(".chart:visible text").evaluate_all(
        "all => all.map(one => [one.getBoundingClientRect(), one.closest('.chart').getBoundingClientRect()])"
        ".map(([text, box]) => [text.left - box.left, box.right - text.right, box.bottom - text.bottom])"
    )
    assert kind == "images" or len(boxes) > 10
    assert np.min(boxes, initial=0) >= -2
    title = page.inner_text("#chosen-title")
    page.get_by_role("button", name="Next row").tap()
    assert page.inner_text("#chosen-title") != title
    assert report.faults == []
    page.context.close()


@pytest.mark.parametrize(("shape", "grid"), [((0, 5), None), ((0, 6), (2, 3)), ((1, 1), None), ((3, 1), (1, 1))])
def test_small_tables_open_without_a_fault(browser, tmp_path, shape, grid):
    values = np.ones(shape)
    findings = Findings(before=values, after=values, mask=values > 0, cell_evidence=values, spread=values, grid=grid)
    write_html(summarise(findings), tmp_path / "r.html")
    opened = watched(browser, tmp_path / "r.html", DESKTOP)
    assert opened.faults == []
    assert opened.shown() == shape[0]
    opened.page.context.close()


def test_choosing_a_row_changes_its_charts(table):
    page = table.page
    assert page.locator("#list [aria-selected=true]").count() == 1
    title, kept, lines = page.inner_text("#chosen-title"), table.paths("kept"), page.inner_text("#value-lines")
    evidence = page.inner_html("#evidence-chart")
    page.locator("#list [role=option]:visible").nth(2).click()
    assert page.inner_text("#chosen-title") != title
    assert table.paths("kept") != kept
    assert page.inner_text("#value-lines") != lines
    assert page.inner_html("#evidence-chart") != evidence
    assert all(table.paths(kind) for kind in ("kept", "came", "put", "spread", "range"))
    assert page.locator("#row-chart .shade").count() >= 1
    page.get_by_role("button", name="Previous row").click()
    assert page.locator("#list [aria-selected=true]").get_attribute("data-index") == "1"
    assert table.faults == []


def test_each_cell_tells_its_evidence_and_what_was_expected(table):
    page = table.page
    record = summarise(TABLE)["rows"][0]
    line = page.locator("#value-lines tr").first.locator("td").all_inner_texts()
    index = record["filled_at"][0]
    assert float(line[3].split()[0]) == pytest.approx(record["after"][0], rel=1e-3)
    assert float(line[4].removeprefix("± ")) == pytest.approx(record["spread"][0], rel=1e-3)
    assert line[5] == "" or float(line[5]) == pytest.approx(record["evidence"][index], rel=1e-2)
    bars = page.locator("#evidence-chart .against").count()
    assert bars == sum(value > 0 for value in record["evidence"])
    page.locator("#evidence-chart .against").first.hover()
    told = page.inner_text("#tip")
    assert "put in its place:" in told
    assert "evidence:" in told
    assert any(f"({kind})" in told for kind in KINDS)


def test_grids_are_images_and_not_curves(images):
    page = images.page
    captions = page.locator("#pictures figcaption").all_inner_texts()
    assert [caption.split(",")[0] for caption in captions] == [
        "before",
        "values replaced",
        "after",
        "spread",
        "evidence",
    ]
    paint = "[...document.querySelectorAll('#pictures canvas')].map(one => one.toDataURL())"
    before = page.evaluate(paint)
    assert len(set(before)) == 5
    page.locator("#list [role=option]:visible").nth(3).click()
    assert not set(page.evaluate(paint)) & set(before)
    assert page.locator("#list canvas").count() == page.locator("#list [role=option]").count()
    assert not page.locator("#row-chart svg, #map svg, #list .strip").count()
    page.locator("#pictures canvas").first.hover(position={"x": 5, "y": 5})
    assert page.inner_text("#tip").startswith("pixel 0, 0, 0")


def test_high_values_are_light_and_pixels_stand_where_they_belong(browser, tmp_path):
    values = np.array([[0.0, 50.0, 100.0, 200.0, 255.0, 128.0]])
    mask = np.array([[True, False, False, False, False, False]])
    findings = Findings(before=values, after=values, mask=mask, grid=(2, 3))
    write_html(summarise(findings), tmp_path / "r.html")
    page = watched(browser, tmp_path / "r.html", DESKTOP).page
    tones, hits = (
        page.evaluate(
            "which => [...document.querySelector(which).getContext('2d').getImageData(0, 0, 3, 2).data]", which
        )
        for which in ("#pictures canvas", "#map canvas")
    )
    assert tones[::4] == values[0].tolist()
    assert hits[3::4] == [255, 0, 0, 0, 0, 0]
    page.context.close()


def test_a_click_on_a_pixel_lists_its_rows(images):
    page = images.page
    canvas = page.locator("#map canvas")
    box = canvas.bounding_box()
    canvas.click(position={"x": box["width"] * 5.5 / 8, "y": box["height"] * 4.5 / 8})
    hit = IMAGES.mask | IMAGES.only_missing
    assert set(images.listed()) == set(np.flatnonzero(hit.reshape(-1, 8, 8, 3)[:, 4, 5, 0]).tolist())


def test_a_row_says_why_in_words(table, tree):
    table.page.locator("#list [role=option]:visible").nth(0).click()
    assert "reference rows" in table.page.inner_text("#chosen-why")
    assert "Lowest score" in tree.page.inner_text("#chosen-why")


def test_search_finds_rows_of_every_group(table):
    page = table.page
    everything = table.shown()
    page.fill("#search", "day</i> 1")
    assert set(table.listed()) == {row for row in range(90) if str(row).startswith("1")}
    page.fill("#search", "nothing is called that")
    assert table.shown() == 0
    assert page.inner_text("#status").startswith("0 of 90 rows")
    assert page.locator("#download").is_disabled()
    table.start_again()
    assert table.shown() == everything


def test_filter_by_kind(table):
    for kind, name in enumerate(KINDS):
        table.page.select_option("#kind", name)
        assert set(table.listed()) == set(np.flatnonzero((TABLE.kinds == kind).any(axis=1)).tolist())


def test_filter_by_column(table):
    page = table.page
    page.locator("#groups [data-group=all]").click()
    page.fill("#column", NAMES[17])
    hit = TABLE.mask | TABLE.only_missing
    assert set(table.listed()) == set(np.flatnonzero(hit[:, 17]).tolist())
    page.fill("#column", "inlet")
    assert set(table.listed()) == set(np.flatnonzero(hit[:, 4]).tolist())
    assert page.locator("#column-names option").count() == 60


def test_lists_of_kinds_and_columns_filter(table):
    page = table.page
    page.locator(".top button[data-kind]").first.click()
    kind = page.input_value("#kind")
    assert set(table.listed()) == set(np.flatnonzero((TABLE.kinds == KINDS.index(kind)).any(axis=1)).tolist())
    page.locator(".top button[data-column]").first.click()
    assert page.input_value("#kind") == ""
    assert page.input_value("#column") != ""
    assert 0 < table.shown() < 90


@pytest.mark.parametrize(
    ("by", "value"),
    [
        ("row", lambda row: row),
        ("p_value", lambda row: TABLE.p_values[row]),
        ("n_corrupted", lambda row: -TABLE.mask[row].sum()),
    ],
)
def test_sorting(table, by, value):
    worst = table.listed()
    table.page.select_option("#sort", by)
    values = [value(row) for row in table.listed()]
    assert values == sorted(values)
    assert sorted(worst) == sorted(table.listed())
    table.page.select_option("#sort", "worst")
    assert table.listed() == worst


def test_unusual_rows_are_apart(table):
    page = table.page
    corrupted = set(table.listed())
    assert corrupted == set(np.flatnonzero(TABLE.mask.any(axis=1)).tolist())
    page.locator("#groups [data-group=unusual]").click()
    assert set(table.listed()) == set(np.flatnonzero(TABLE.unusual).tolist())
    assert "unusual, left alone" in page.inner_text("#chosen-title")
    assert "left as it is" in page.inner_text("#chosen-why")


def test_findings_are_downloaded_as_csv(table):
    table.page.locator("#groups [data-group=all]").click()
    with table.page.expect_download() as waiting:
        table.page.click("#download")
    assert waiting.value.suggested_filename == "findings.csv"
    text = waiting.value.path().read_text("utf-8")
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    expected = findings_table(TABLE)
    assert list(lines[0]) == list(expected)
    key = ("row", "id", "first_column", "last_column", "n_cells", "kind")
    assert sorted(tuple(line[name] for name in key) for line in lines) == sorted(
        tuple(map(str, line)) for line in zip(*(expected[name] for name in key), strict=True)
    )
    table.page.select_option("#kind", "stuck")
    with table.page.expect_download() as waiting:
        table.page.click("#download")
    stuck = list(csv.DictReader(io.StringIO(waiting.value.path().read_text("utf-8"), newline="")))
    assert {int(line["row"]) for line in stuck} == set(np.flatnonzero((TABLE.kinds == 3).any(axis=1)).tolist())


def test_dark_mode(browser, reports, table):
    page = table.page
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("button", name="Dark mode").click()
    assert page.evaluate(background) != light
    page.get_by_role("button", name="Light mode").click()
    assert page.evaluate(background) == light
    dark = watched(browser, reports / "table.html", DESKTOP, color_scheme="dark").page
    assert dark.evaluate(background) != light
    dark.emulate_media(media="print", color_scheme="dark")
    assert dark.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    dark.context.close()


@pytest.mark.parametrize("name", ["fixed.html", "fixed.json"])
def test_another_report_is_compared(browser, reports, name):
    opened = watched(browser, reports / "table.html", DESKTOP)
    page = opened.page
    page.set_input_files("#other", reports / name)
    page.wait_for_selector("#comparison:visible")
    lines = [line.split("\t") for line in page.inner_text("#compared-counts").splitlines()]
    corrupted = next(line for line in lines if line[0] == "corrupted values")
    assert corrupted[1].startswith(f"{FIXED.mask.sum():,} ")
    assert corrupted[2].startswith(f"{TABLE.mask.sum():,} ")
    assert sum(line[0].startswith("rows with") for line in lines) == 4
    assert page.locator("#compared-columns tr").count() == 12
    both = (TABLE.mask.any(axis=1) & FIXED.mask.any(axis=1)).sum()
    assert f"{both} in both" in page.inner_text("#compared-rows")
    assert opened.faults == []
    page.context.close()


def test_a_comparison_can_be_in_the_file_and_other_files_are_refused(browser, reports, tmp_path):
    page = watched(browser, reports / "compared.html", DESKTOP).page
    assert page.locator("#compared-counts tr").count() == 9
    (tmp_path / "letter.html").write_text("<p>Dear</p>")
    page.set_input_files("#other", tmp_path / "letter.html")
    page.locator("#compare-status", has_text="is not a report").wait_for()
    assert page.locator("#comparison").is_hidden()
    page.context.close()


def test_labels_and_units_are_shown(table):
    page = table.page
    assert "Inlet" in page.inner_html("#row-chart")
    page.fill("#column", NAMES[20])
    table.page.locator("#list [role=option]:visible").first.click()
    cells = page.locator("#value-lines tr", has_text=NAMES[20]).first.locator("td").all_inner_texts()
    assert cells[3].endswith(" °C")


@pytest.mark.parametrize(("units", "title"), [("mV", "value, mV"), ({"1": "mV"}, "value")])
def test_the_axis_has_a_unit_if_all_columns_share_it(browser, tmp_path, units, title):
    write_html(summarise(some_findings(), units=units, labels={4: "Inlet"}), tmp_path / "r.html")
    page = watched(browser, tmp_path / "r.html", DESKTOP).page
    texts = page.locator("#row-chart text").all_text_contents()
    assert {title, "Inlet"} <= set(texts)
    page.context.close()


def test_the_map_is_shaded_by_share(long):
    page = long.page
    alpha = page.evaluate(
        """async () => {
          const image = new Image(), canvas = document.createElement('canvas'), context = canvas.getContext('2d');
          image.src = document.querySelector('#map image').getAttribute('href');
          await image.decode();
          canvas.width = image.width; canvas.height = image.height;
          context.drawImage(image, 0, 0);
          return [...context.getImageData(0, 0, image.width, image.height).data].filter((_, i) => i % 4 === 3);
        }"""
    )
    shares = np.array(summarise(LONG)["map"]["corrupted"]).ravel() / 64
    assert len(alpha) == len(shares)
    full = shares[: 12 * (10_000 // 64)]
    assert np.corrcoef(np.sqrt(full), alpha[: len(full)])[0, 1] > 0.9
    assert np.max(alpha) > 1.5 * np.min(alpha)
    assert "%" in page.inner_text("#map-key")
    page.locator("#map image").hover()
    assert "replaced:" in page.inner_text("#tip")


def test_a_click_on_the_map_opens_a_row_of_that_place(table):
    page = table.page
    image = page.locator("#map image")
    box = image.bounding_box()
    image.click(position={"x": box["width"] * 30.5 / 60, "y": box["height"] * 33.5 / 90})
    assert page.inner_text("#chosen-title").startswith("Row <i>day</i> 33:")


def test_a_drag_zooms_and_a_button_shows_all_again(tree):
    page = tree.page
    assert page.locator("#tree-chart .node").count() == len(TREE.tree.start)
    page.locator("#row-chart").scroll_into_view_if_needed()
    ticks, kept = page.locator("#tree-chart .x-tick").all_inner_texts(), tree.paths("kept")
    box = page.locator("#row-chart svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 90, steps=4)
    page.mouse.up()
    assert page.locator("#unzoom").is_visible()
    assert page.locator("#tree-chart .x-tick").all_inner_texts() != ticks
    page.click("#unzoom")
    assert tree.paths("kept") == kept


def test_the_tree_is_shown_only_where_there_is_one(tree, table):
    assert tree.page.locator("#tree-part").is_visible()
    assert table.page.locator("#tree-part").is_hidden()
    assert tree.page.locator("#evidence-part").is_hidden()
    of_table, of_tree = (opened.page.locator("#values th:visible").all_inner_texts() for opened in (table, tree))
    assert of_table[3:] == ["put in its place", "spread", "log odds"]
    assert of_tree == of_table[:4]
    anomalous = sum(score <= 0.02 for score in summarise(TREE)["rows"][0]["nodes"])
    assert tree.page.locator("#tree-chart .node.anomalous").count() == anomalous


def test_keyboard_reaches_everything(table):
    page = table.page
    first = "document.querySelector('a, button, input, [tabindex]')"
    assert page.evaluate(f"{first}.textContent") == "Skip to the list of rows"
    page.evaluate(f"{first}.focus()")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "rows"
    page.focus("#download")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.index") == "0"
    title = page.inner_text("#chosen-title")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.index") == "1"
    assert page.inner_text("#chosen-title") != title
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.id") == f"row-{table.listed()[-1]}"
    assert page.locator("#list [role=option][tabindex='0']").count() == 1
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "previous"
    page.fill("#search", page.locator("#list [role=option]:visible .name").nth(3).inner_text())
    page.press("#search", "Enter")
    assert page.evaluate("document.activeElement.dataset.index") == "3"


def test_names_from_the_data_stay_text(table):
    page = table.page
    assert page.locator("script").count() == 3
    assert page.inner_text(".kicker") == NASTY
    assert page.locator("#list b, #list i, #list script, .chart b").count() == 0
    assert page.locator("#list .name").first.inner_text().startswith("<i>day</i>")
    ticks = page.locator("#map .x-tick, #row-chart .x-tick").all_text_contents()
    assert any(text.startswith("<scrip") for text in ticks)
    page.fill("#column", NASTY)
    assert table.shown() > 0
    assert "Drift in sensor 3." in page.inner_text("ul.warning")
    assert table.faults == []


def test_policy_stops_foreign_scripts(browser, reports):
    report = watched(browser, reports / "nothing.html", DESKTOP)
    report.page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = 'window.harmed = true';"
        "document.body.append(one); document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"harmed=1\">') }"
    )
    report.page.wait_for_timeout(50)
    assert report.page.evaluate("window.harmed") is None
    assert any("Content Security Policy" in fault for fault in report.faults)
    report.page.context.close()


def test_the_scale_can_be_changed(table):
    before = table.paths("kept")
    table.page.locator("#scale [aria-pressed=false]").click()
    assert table.paths("kept") != before
    assert table.page.locator("#scale [aria-pressed=true]").count() == 1
    table.page.locator("#scale [aria-pressed=false]").click()
    assert table.paths("kept") == before


@pytest.mark.parametrize("kind", REPORTS)
def test_prints_within_the_paper(pages, kind):
    opened = pages[kind].start_again()
    assert opened.page.pdf(format="A4").startswith(b"%PDF")
    widths = "[...document.querySelectorAll('.chart svg')].map(one => one.viewBox.baseVal.width)"
    opened.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert all(width == 660 for width in opened.page.evaluate(widths))
    opened.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert 660 not in opened.page.evaluate(widths)
    opened.page.emulate_media(media="print")
    opened.page.set_viewport_size({"width": 690, "height": 970})
    bars = opened.page.locator(".top svg").evaluate_all("all => all.map(one => one.getBoundingClientRect().width)")
    opened.page.emulate_media(media="screen")
    opened.page.set_viewport_size(DESKTOP)
    assert min(bars, default=100) > 60
    assert opened.faults == []
