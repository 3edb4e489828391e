"""The line appears on terminals and in notebooks, after half a second, and goes."""

import io
import re
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

from treemend import progress


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_FRAMES", 0.001)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")


def shown(monkeypatch, stream, work):
    monkeypatch.setattr("sys.stderr", stream)
    work()
    return stream.getvalue()


def three_steps():
    with progress.step("counting", 3):
        for _ in range(3):
            progress.advance(1, "some rows")
            time.sleep(0.005)


def test_a_terminal_shows_a_bar_that_goes(monkeypatch, impatient):
    text = shown(monkeypatch, Terminal(), three_steps)
    assert "counting ━" in text
    assert "33%, some rows" in text
    assert text.endswith("\r\x1b[K")


def test_nothing_is_printed_elsewhere(monkeypatch, impatient):
    assert shown(monkeypatch, io.StringIO(), three_steps) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert shown(monkeypatch, Terminal(), three_steps) == ""


def test_plain_lines_where_they_are_asked_for(monkeypatch, impatient):
    def with_lines():
        with progress.step("reading", in_lines=True):
            three_steps()

    told = "".join(f"reading: counting: {share}%, some rows, 0 s\n" for share in (33, 67, 100))
    assert shown(monkeypatch, io.StringIO(), with_lines) == told


def test_nothing_is_printed_before_half_a_second_has_passed(monkeypatch):
    stream = Terminal()
    begun = time.monotonic()
    text = shown(monkeypatch, stream, three_steps)
    assert time.monotonic() - begun < progress.PATIENCE
    assert text.replace("\r\x1b[K", "") == ""


def test_a_step_that_says_nothing_is_seen_all_the_same(monkeypatch, impatient):
    def silent_work():
        with progress.step("compiling, once on this machine"):
            time.sleep(0.1)

    assert "compiling, once on this machine, 0 s" in shown(monkeypatch, Terminal(), silent_work)


def test_rounds_are_counted_inside_the_step_that_is_measured(monkeypatch, impatient):
    def nested():
        with progress.step("learning", 5):
            for fold in range(5):
                with progress.step(f"fold {fold + 1} of 5"), progress.step("", 10):
                    progress.advance(7)
                    time.sleep(0.005)
                progress.advance()

    text = shown(monkeypatch, Terminal(), nested)
    assert "learning: fold 1 of 5 (70%) ──" in text
    assert "learning: fold 3 of 5 (70%) ━━━" in text
    assert " 40%" in text


def test_a_step_that_counts_is_not_measured_by_what_is_in_it(monkeypatch, impatient):
    def nested():
        with progress.step("mending", 1.0), progress.step("judging", 4):
            progress.advance(1)
            with progress.step("", 10):
                progress.advance(9)
                time.sleep(0.005)

    text = shown(monkeypatch, Terminal(), nested)
    assert "mending: judging (25%)" in text
    assert "90%" not in text


def test_messages_stand_above_the_line(monkeypatch, impatient):
    def message():
        with progress.step("working"):
            time.sleep(0.05)
            progress.say("a note")

    assert "\r\x1b[Ka note\n" in shown(monkeypatch, Terminal(), message)

    def message_from_silence():
        with progress.step("working"):
            time.sleep(0.05)
            with progress.silenced(), progress.step("unseen"):
                progress.say("a note")

    text = shown(monkeypatch, Terminal(), message_from_silence)
    assert "\r\x1b[Ka note\n" in text
    assert "unseen" not in text


def test_who_asks_for_silence_gets_it(monkeypatch, impatient):
    def silent():
        with progress.silenced():
            three_steps()

    assert shown(monkeypatch, Terminal(), silent) == ""


def test_other_threads_show_nothing_and_disturb_nothing(monkeypatch, impatient):
    def in_a_thread():
        with progress.step("outside", 2):
            thread = threading.Thread(target=three_steps)
            thread.start()
            thread.join()
            progress.advance()
            time.sleep(0.05)

    text = shown(monkeypatch, Terminal(), in_a_thread)
    assert "counting" not in text
    assert "50%" in text


def test_processes_of_a_pool_show_nothing():
    code = (
        "import sys, multiprocessing, treemend.progress as progress\n"
        "multiprocessing.parent_process = lambda: object()\n"
        "sys.stderr.isatty = lambda: True\n"
        "progress.PATIENCE = 0\n"
        "with progress.step('x', 2): progress.advance()\n"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stderr == b""


def test_notebooks_show_one_output_that_changes(monkeypatch, impatient):
    outputs = []

    class Handle:
        def update(self, data, raw):
            outputs.append(data["text/plain"])

    def display(data, raw, display_id):
        outputs.append(data["text/plain"])
        return Handle()

    module = types.ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "ipykernel", types.ModuleType("ipykernel"))
    monkeypatch.setitem(sys.modules, "IPython", types.ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    three_steps()
    assert "counting" in outputs[0]
    assert outputs[-1] == ""


def test_fitting_and_mending_are_followed(monkeypatch, impatient):
    from treemend import Mender

    rows = np.random.default_rng(0).normal(size=(501, 64)).cumsum(axis=1)

    def work(**parameters):
        Mender(n_jobs=1, **parameters).fit(rows).mend(rows)

    text = shown(monkeypatch, Terminal(), work)
    assert re.search("fold [1-5] of 5", text)
    assert shown(monkeypatch, Terminal(), lambda: work(progress=False)) == ""
