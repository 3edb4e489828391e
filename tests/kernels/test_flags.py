"""Helpers that are compiled without counting references must not own memory: it would never be given back."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import treemend.kernels
from treemend.kernels import workspace

FOLDER = Path(inspect.getfile(treemend.kernels)).parent
MEMORY = {name for name, _ in inspect.getmembers(workspace, callable)} | {"empty", "zeros", "ones", "full", "copy"}


def helpers(decorator):
    for path in sorted(FOLDER.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and decorator in map(ast.unparse, function.decorator_list):
                yield f"{path.stem}.{function.name}", function


def called_names(function):
    for call in ast.walk(function):
        if isinstance(call, ast.Call):
            yield call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def test_inlined_helpers_neither_ask_for_memory_nor_call_who_does():
    allocating = {
        name.rpartition(".")[2] for name, function in helpers("called") if MEMORY & set(called_names(function))
    }
    found = {
        name: asked
        for name, function in helpers("inlined")
        if (asked := (MEMORY | allocating) & set(called_names(function)))
    }
    assert not found


def test_inlined_helpers_return_no_arrays():
    assert not [name for name, function in helpers("inlined") if "NDArray" in ast.unparse(function.returns)]


def test_there_is_something_to_look_at():
    assert len(list(helpers("inlined"))) > 20
    assert len(list(helpers("called"))) > 5
