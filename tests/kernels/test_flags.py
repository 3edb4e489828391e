"""Helpers that are compiled without counting references must not own memory: it would never be given back."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import numpy as np

import treemend.kernels
from treemend.kernels import workspace

FOLDER = Path(inspect.getfile(treemend.kernels)).parent
WORDS = ("empty", "zeros", "ones", "full", "copy", "sort", "concatenate", "arange")
MEMORY = {name for name, _ in inspect.getmembers(workspace, callable)} | {
    name for name in dir(np) if name.startswith(WORDS)
}


def helpers(decorator):
    for path in sorted(FOLDER.glob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and decorator in map(ast.unparse, function.decorator_list):
                yield f"{path.stem}.{function.name}", function


def called_names(function):
    for call in ast.walk(function):
        if isinstance(call, ast.Call):
            yield call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def allocating():
    """Helpers that ask for memory, and those that call them."""
    known = set(MEMORY)
    calls = {name.rpartition(".")[2]: set(called_names(function)) for name, function in helpers("called")}
    while new := {name for name, names in calls.items() if names & known} - known:
        known |= new
    return known


def array_names(path):
    """Names that a module gives to types of arrays."""
    for line in ast.parse(path.read_text()).body:
        if isinstance(line, ast.Assign) and "NDArray" in ast.unparse(line.value):
            yield ast.unparse(line.targets[0])


def test_inlined_helpers_neither_ask_for_memory_nor_call_who_does():
    wanted = allocating()
    assert "weighted_gram" in wanted
    found = {name: wanted & set(called_names(function)) for name, function in helpers("inlined")}
    assert not {name: asked for name, asked in found.items() if asked}


def test_inlined_helpers_return_no_arrays():
    arrays = {name for path in FOLDER.glob("*.py") for name in array_names(path)} | {"NDArray"}
    assert "Floats" in arrays
    for name, function in helpers("inlined"):
        words = {ast.unparse(part) for part in ast.walk(function.returns) if isinstance(part, ast.Name)}
        assert not words & arrays, name


def test_there_is_something_to_look_at():
    assert len(list(helpers("inlined"))) > 20
    assert len(list(helpers("called"))) > 5
