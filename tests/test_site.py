"""The documentation site's sources: examples compile and are listed, every public name is in the API reference."""

import ast
import importlib
import re
import runpy
import sys
import types
from pathlib import Path

import pytest

import treemend

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
MODULES = (
    "treemend",
    "treemend.tcs",
    "treemend.tcs.false_alarms",
    "treemend.dask",
    "treemend.plots",
    "treemend.synthetic",
)


def name_of(path):
    return path.relative_to(ROOT / "examples").as_posix()


def public_names():
    """Return every public name; one that is imported into several modules where it is documented, in the first."""
    seen, names = [], []
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in module.__all__:
            member = getattr(module, name)
            if isinstance(member, types.ModuleType) or any(member is other for other in seen):
                continue
            seen.append(member)
            names.append(f"{module_name}.{name}")
    return names


def documented_names():
    """Return the names in the autosummary tables of the API page."""
    module, names = "", set()
    for line in (ROOT / "docs" / "api.rst").read_text().splitlines():
        if found := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = found[1]
        elif found := re.match(r"   ([A-Za-z_.]+)$", line):
            names.add(f"{module}.{found[1]}")
    return names


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_compiles_and_has_a_title_and_a_picture(path):
    source = path.read_text()
    compile(source, str(path), "exec")
    title, line = (ast.get_docstring(ast.parse(source)) or "\n").splitlines()[:2]
    assert title
    assert line == "=" * len(title)
    assert "plt.show()" in source


@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_imports_what_it_uses_from_public_modules(path):
    public = set(public_names())
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("treemend"):
            assert {f"{node.module}.{alias.name}" for alias in node.names} <= public


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=name_of)
def test_an_example_runs_and_repairs_something(path):
    """An example whose table counts as drifted runs as well, and shows nothing."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    with matplotlib.rc_context():
        mended = runpy.run_path(str(path)).get("mended")
        importlib.import_module("matplotlib.pyplot").close("all")
    if isinstance(mended, treemend.Result):
        assert mended.notes == ()
        assert mended.corrupted.any() or mended.draws


def test_there_are_at_least_ten_examples():
    assert len(EXAMPLES) >= 10


def test_examples_are_listed_in_the_section_that_they_are_in():
    """The README for people and the gallery's sections have the same titles and the same files."""
    page = (ROOT / "examples" / "README.md").read_text()
    listed = {}
    for section in page.split("\n## ")[1:]:
        for path in re.findall(r"\]\((.+?\.py)\)", section):
            listed[path] = section.splitlines()[0]
    titles = {name_of(path): (path.parent / "GALLERY_HEADER.txt").read_text().splitlines()[0] for path in EXAMPLES}
    assert listed == titles


def test_examples_have_a_place_in_the_gallery(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    order = importlib.import_module("gallery_order")
    monkeypatch.delitem(sys.modules, "gallery_order")
    assert sorted(order.ORDER) == sorted(path.stem for path in EXAMPLES)


def test_the_api_page_has_every_public_name_and_no_other():
    assert documented_names() == set(public_names())


def test_every_page_is_in_a_table_of_contents():
    folder = ROOT / "docs"
    listed = set()
    for page in folder.glob("*.rst"):
        for tree in re.findall(r"\.\. toctree::\n((?:   :.*\n)*)\n((?:   .+\n)+)", page.read_text()):
            listed |= {line.split("<")[-1].strip(" >") for line in tree[1].splitlines()}
    pages = {page.stem for page in [*folder.glob("*.md"), *folder.glob("*.rst")]} - {"index"}
    assert pages <= listed
