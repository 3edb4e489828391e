import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import NAMES

from treemend import Mender, load
from treemend.cli import errors
from treemend.exceptions import InputError, ModelFileError, OutputError, ParameterError

pytestmark = pytest.mark.slow


def lines(err):
    return [line for line in err.splitlines() if line.startswith("treemend: ")]


CASES = {
    ("mend", "suspect.csv", "-o", "o.csv", "--nope"): (2, "There is no option '--nope'"),
    ("mend", "suspect.csv", "-m", "model.safetensors"): (2, "required: -o"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "--clean", "clean.csv", "-o", "o.csv"): (2, "not both"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "--layout", "4x4", "-o", "o.csv"): (2, "so --layout would have"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "--seed", "0", "-o", "o.csv"): (2, "so --seed would have"),
    ("check", "suspect.csv", "-m", "model.safetensors", "--contaminated"): (2, "so --contaminated would have"),
    ("check", "suspect.csv", "-m", "model.safetensors", "--imputation", "mean"): (2, "so --imputation would have"),
    ("check", "suspect.csv", "-m", "model.safetensors", "--reference-rows", "0"): (2, "so --reference-rows would"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "--fdr", "0.1", "-r", "0.1", "-o", "o.csv"): (2, "two rules"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "--fdr", "2", "-o", "o.csv"): (
        2,
        "--fdr must be a number between 0 and 1",
    ),
    ("check", "suspect.csv", "-m", "model.safetensors", "-c", "s1"): (2, "columns of its own: 's0', 's1', 's2', "),
    ("check", "suspect.csv", "-m", "model.safetensors", "-c", "*"): (2, "The model looks at columns of its own"),
    ("check", "suspect.csv", "-m", "model.safetensors", "-p", "s1"): (2, "Leave --columns and --passthrough out"),
    ("mend", "-", "--clean", "-", "-o", "o.csv"): (2, "not both"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-j", "0", "-o", "o.csv"): (2, "n_jobs must be"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-r", "2", "-o", "o.csv"): (2, "false_alarm_rate must be"),
    ("check", "suspect.csv", "-m", "model.safetensors", "--fail-above", "2"): (2, "--fail-above must be a number"),
    ("fit", "clean.csv", "-o", "o", "-r", "2"): (2, "false_alarm_rate must be"),
    ("fit", "clean.csv", "-o", "o", "--imputation", "best"): (2, "imputation must be one of"),
    ("fit", "clean.csv", "-o", "o", "--layout", "16"): (2, "such as 16x16"),
    ("fit", "clean.csv", "-o", "o", "--layout", "16x16"): (2, "256 cells"),
    ("fit", "clean.csv", "-o", "o", "--layout", "absent.toml"): (2, "No such file"),
    ("fit", "clean.csv", "-o", "o", "--layout", "broken.toml"): (2, "not a TOML file"),
    ("fit", "clean.csv", "-o", "o", "--delimiter", "ab"): (2, "one ASCII character"),
    ("fit", "clean.csv", "-o", "o", "-c", "x*"): (3, "No column is called or matches 'x*'"),
    ("fit", "suspect.csv", "-c", "id", "-c", "s0", "-o", "o"): (3, "'id' ("),
    ("fit", "suspect.parquet", "-c", "id", "-c", "s0", "-o", "o"): (3, "--passthrough"),
    ("fit", "absent.csv", "-o", "o"): (3, "does not exist"),
    ("fit", "tiny.csv", "-o", "o"): (3, "at least 5 rows"),
    ("mend", "clean.csv", "--clean", "suspect.csv", "-p", "id", "-o", "o.xls"): (3, "only .csv"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-o", "o.csv", "--mask", "m.xls"): (3, "only .csv"),
    ("mend", "narrow.csv", "-m", "model.safetensors", "-o", "o.csv"): (3, "does not have all columns of the model"),
    ("check", "narrow.csv", "--no-header", "-m", "model.safetensors"): (3, "2 columns to look at"),
    ("mend", "suspect.csv", "-m", "clean.csv", "-o", "o.csv"): (4, "not a safetensors file"),
    ("inspect", "absent"): (4, "No such file"),
    ("fit", "clean.csv", "-o", "suspect.csv"): (5, "give --force"),
    ("fit", "clean.csv", "-o", "clean.csv", "--force"): (5, "is already an input"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-o", "suspect.csv", "-f"): (5, "is already an input"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-o", "model.safetensors.csv", "--mask", "link.csv"): (
        5,
        "input",
    ),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-o", "o.csv", "--json", "o.csv"): (5, "is already an output"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-o", "o.csv", "--findings", "o.csv"): (5, "already an output"),
    ("mend", "suspect.csv", "-m", "model.safetensors", "-o", "no/o.csv"): (5, "cannot be written"),
}


@pytest.mark.parametrize("arguments", CASES, ids=" ".join)
def test_errors_take_one_line_and_name_the_next_step(arguments, model, treemend):
    Path("narrow.csv").write_text("1,2\n3,4\n")
    Path("tiny.csv").write_text("a,b\n1,2\n3,4\n")
    Path("broken.toml").write_text("[")
    Path("link.csv").symlink_to("suspect.csv")
    before = sorted(os.listdir())
    expected, message = CASES[arguments]
    code, out, err = treemend(*arguments)
    assert (code, out) == (expected, "")
    assert len(lines(err)) == 1
    assert message in err
    assert err.rstrip().endswith(".")
    assert sorted(os.listdir()) == before


def test_messages_are_one_line_without_control_characters():
    assert errors.printable("a\nb\x1b") == "a; b\\x1b"


def test_layouts_reach_the_mender(folder, treemend):
    halves = {"left": NAMES[:8], "right": NAMES[8:]}
    Path("g.toml").write_text("[groups]\n" + "".join(f"{name} = {columns}\n" for name, columns in halves.items()))
    layouts = {"4x4": (4, 4), "2x4x2": (2, 4, 2), "g.toml": halves}
    layouts |= {name: name for name in ("auto", "sequence", "correlated")}
    for option, layout in layouts.items():
        assert treemend("fit", "clean.csv", "-o", "m", "--force", "--layout", option)[0] == 0
        assert load("m").layout == layout


def test_force_replaces(model, treemend):
    Path("o.csv").write_text("old")
    assert treemend("mend", "suspect.csv", "-m", model, "-o", "o.csv", "--force")[0] == 0
    assert Path("o.csv").read_text().startswith("id,s0")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 5),
        (PermissionError(errno.EACCES, "Permission denied", "o.csv"), 3),
        (MemoryError(), 3),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 141),
        (ZeroDivisionError("oh"), 70),
        (InputError("x."), 3),
        (ModelFileError("x."), 4),
        (OutputError("x."), 5),
        (ParameterError("x."), 2),
    ],
)
def test_whatever_happens_midway_leaves_nothing(error, code, model, treemend, monkeypatch):
    def fail(self, *rows, **how):
        raise error

    monkeypatch.setattr(Mender, "_mend", fail)
    monkeypatch.setattr(errors.os, "dup2", lambda *descriptors: None)
    before = sorted(os.listdir())
    got, out, err = treemend("mend", "suspect.csv", "-m", model, "-o", "o.csv", "--mask", "m.csv", "--report", "r")
    assert got == code
    assert sorted(os.listdir()) == before
    assert len(lines(err)) == (code != 141)
    assert ("Traceback" in err) == (code == 70)


def test_no_arguments_show_the_help(treemend):
    code, _, err = treemend()
    assert code == 2
    assert "Exit codes" in err


def started(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "treemend", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.fixture
def long_table(model):
    """A table that takes a while, since it is mended in many batches."""
    rows = np.tile(np.loadtxt("clean.csv", delimiter=",", skiprows=1), (3000, 1))
    np.save("long.npy", rows)
    return ("mend", "long.npy", "-m", model, "-o", "out.npy", "--mask", "mask.npy", "--report", "r.html", "-j", "1")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("seconds", [0.5, 2.0])
def test_stopped_at_some_moment(stop, seconds, long_table):
    before = sorted(os.listdir())
    with started(*long_table) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(stop)
        _, err = process.communicate()
    if process.returncode == 0:
        assert len(np.load("out.npy")) == 600_000
    else:
        assert process.returncode in (128 + stop, -stop), err
        assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_while_a_string_is_executed_have_their_exit_codes(stop, code, tmp_path):
    program = "\n".join(
        [
            "import os, treemend.cli.app",
            "from treemend.cli import errors",
            f"signalled = 'for i in range(10**9): i == 9 and os.kill(os.getpid(), {int(stop)})'",
            "treemend.cli.app.command_line = lambda _: exec(signalled)",
            "errors.main([])",
        ]
    )
    (tmp_path / "program.py").write_text(program)
    # By -m, since only there Python itself looks whether a KeyboardInterrupt ended a string.
    done = subprocess.run([sys.executable, "-m", "program"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == code
    assert b"stopped" in done.stderr


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_signals_midway_have_their_exit_codes(stop, code, long_table):
    before = sorted(os.listdir())
    with started(*long_table) as process:
        assert any(b"mending long.npy: " in line for line in process.stderr), "no line of progress"
        process.send_signal(stop)
        process.communicate()
    assert process.returncode == code
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_that_an_extension_turned_into_an_error_is_still_a_signal(stop, code, model, treemend, monkeypatch):
    def interrupted_while_imported(self, *rows, **how):
        try:
            signal.raise_signal(stop)
        except BaseException:
            raise TypeError("an extension module lost the exception of the handler") from None

    monkeypatch.setattr(Mender, "_mend", interrupted_while_imported)
    got, _, err = treemend("mend", "suspect.csv", "-m", model, "-o", "o.csv")
    assert got == code
    assert "Traceback" not in err


def test_nohup_is_heeded(monkeypatch):
    monkeypatch.setattr(errors.signal, "getsignal", lambda number: signal.SIG_IGN)
    monkeypatch.setattr(errors.signal, "signal", lambda number, handler: pytest.fail("no handler was due"))
    with pytest.raises(SystemExit) as left:
        errors.main(["--version"])
    assert left.value.code == 0


def test_a_full_disk_leaves_nothing(long_table):
    resource = pytest.importorskip("resource")
    before = sorted(os.listdir())
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))  # noqa: E731
    with started(*long_table, preexec_fn=limit) as process:
        _, err = process.communicate()
    assert process.returncode == 5
    assert b"File too large: no output was written" in err
    assert sorted(os.listdir()) == before


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys, time; from treemend.cli.errors import run; run(['mend', '--help']);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "SUSPECT" in done.stdout
    assert not {"numpy", "sklearn", "pyarrow", "numba", "pandas", "rich"} & set(done.stderr.split())


def test_help_states_the_level_of_the_test(treemend):
    from treemend.cli import run

    code, out, _ = treemend("check", "--help")
    assert code == 0
    assert f"in {1 - run.CHECK_LEVEL:.0%}".replace("%", " of 100") in " ".join(out.split())


def test_the_reader_of_standard_output_may_go(model, treemend):
    """As in ``treemend mend - | head``."""
    np.savetxt("long.csv", np.tile(np.loadtxt("clean.csv", delimiter=",", skiprows=1), (20, 1)), delimiter=",",
               header=",".join(NAMES), comments="")  # fmt: skip
    with started("mend", "long.csv", "-m", model, "-o", "-") as process:
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
    assert process.returncode == 141, err
    assert b"treemend: " not in err


def on_a_terminal(*arguments):
    """Run a command whose standard error is a terminal; return what it showed, and its longest silence in seconds."""
    import pty

    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "200"}
    process = subprocess.Popen([sys.executable, "-m", "treemend", *map(str, arguments)], stderr=slave, env=environment)
    os.close(slave)
    shown, silences, last = b"", [], time.monotonic()
    while True:
        try:
            piece = os.read(master, 100_000)
        except OSError:
            break
        if not piece:
            break
        shown += piece
        silences.append(time.monotonic() - last)
        last = time.monotonic()
    process.wait()
    os.close(master)
    return shown, max(silences)


def test_nothing_is_silent_for_more_than_a_second(model):
    for _ in range(5):  # A busy machine may stop it for a while.
        _, silence = on_a_terminal("mend", "suspect.csv", "--clean", "clean.csv", "-o", "out.csv", "--force")
        if silence < 1:
            return
    pytest.fail(f"{silence:.1f} seconds without a sign")


def test_terminals_get_a_bar_and_others_lines(model, treemend, monkeypatch):
    from treemend import progress

    np.save("some.npy", np.tile(np.loadtxt("clean.csv", delimiter=",", skiprows=1), (100, 1)))
    shown, _ = on_a_terminal("mend", "some.npy", "-m", model, "-o", "out.npy", "-j", "1")
    assert b"\x1b[K" in shown
    assert b"mending some.npy" in shown
    assert b" rows" in shown
    assert shown.split(b"\r\x1b[K")[-1].startswith(b"out.npy: ")
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    _, _, err = treemend("mend", "suspect.csv", "-m", model, "-o", "lines.csv")
    assert "mending suspect.csv: 100%, 20 rows" in err
    assert "\x1b" not in err
