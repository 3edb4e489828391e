"""Bars appear on terminals, after a second, and go."""

import io
import time

import numpy as np

from treemend import TreeMender, progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, work):
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    work()
    return stream.getvalue()


def counted():
    with progress.step("Counting", 3):
        for _ in range(3):
            progress.advance(1)


def test_a_terminal_shows_a_bar(monkeypatch):
    assert "Counting" in shown(monkeypatch, Terminal(), counted)


def test_nothing_is_printed_elsewhere(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), counted) == ""


def test_nothing_is_printed_before_a_second_has_passed(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    begun = time.monotonic()
    counted()
    assert time.monotonic() - begun < progress.PATIENCE
    assert stream.getvalue() == ""


def test_who_asks_for_silence_gets_it(monkeypatch):
    def silent():
        with progress.silenced():
            counted()

    assert shown(monkeypatch, Terminal(), silent) == ""


def test_fitting_and_mending_are_followed(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(200, 12)).cumsum(axis=1)

    def work(**parameters):
        TreeMender(n_jobs=1, **parameters).fit(rows).mend(rows)

    text = shown(monkeypatch, Terminal(), work)
    assert "reference rows" in text
    assert "Looking at 200 rows" in text
    assert shown(monkeypatch, Terminal(), lambda: work(progress=False)) == ""
