"""README and docs: every Python line runs and prints what it says; every relative link and picture is tracked."""

import doctest
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "\n".join("" if line.strip().startswith("```") else line for line in page.read_text().splitlines())
    examples = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert runner.run(examples).failed == 0


def tracked():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return {ROOT / name for name in listed.stdout.split("\0") if name}


def anchors(page):
    """Return the anchors of a page's headings, as public forges make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page(page):
    files = tracked()
    for target in LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked in files, f"{page.name} links to {target}, which is not tracked"
        if anchor:
            assert anchor in anchors(linked), f"{page.name} links to {target}, which has no such heading"


def test_links_of_the_package_s_page_are_complete():
    """The README of the distributions has every link and picture of the repository's, by its address."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]["hooks"]
    page = given = (ROOT / "README.md").read_text()
    for one in build["fancy-pypi-readme"]["substitutions"]:
        page = re.sub(one["pattern"], one["replacement"], page)
    addresses = LINK.findall(page)
    assert all(address.startswith("https://") for address in addresses)
    for relative, address in zip(LINK.findall(given), addresses, strict=True):
        assert address.endswith(relative)
        assert ("raw" in address) == relative.endswith(".png")


def test_references_of_the_code_resolve():
    """Docstrings and comments that name a section of docs/method.md name one that is there."""
    page = (ROOT / "docs" / "method.md").read_text()
    sections = set(re.findall(r"^#+ (\d+(?:\.\d+)?)\.? ", page, flags=re.MULTILINE))
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text()
        for number in re.findall(r"method\.md`*,?\s+section (\d+(?:\.\d+)?)", text):
            assert number in sections, f"{path.name} refers to section {number} of docs/method.md"


def test_the_map_of_the_package_is_complete():
    """CONTRIBUTING names only modules that exist, and every module and folder at the top of the package."""
    package = ROOT / "src" / "treemend"
    named = set(re.findall(r"`([\w/]+(?:\.py|/))`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert [name for name in named if not (package / name).exists() and not (ROOT / name).exists()] == []
    modules = {path.name for path in package.glob("*.py")} - {"__init__.py", "__main__.py"}
    folders = {f"{path.name}/" for path in package.iterdir() if (path / "__init__.py").exists()}
    assert (modules | folders) - named == set()
