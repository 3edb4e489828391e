import os
import signal
import subprocess
import sys
import textwrap

import pytest

from treemend import atomic
from treemend.atomic import atomic_file
from treemend.exceptions import OutputError


@pytest.fixture(params=["nameless", "beside"])
def way(request, monkeypatch):
    """Both ways of writing: a nameless file, and a hidden one beside."""
    if request.param == "beside":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("nameless files are a thing of Linux")
    return request.param


def test_appears_at_the_end(way, tmp_path):
    path = tmp_path / "out"
    with atomic_file(path, replace=False) as file:
        file.write(b"half")
        assert not path.exists()
        file.write(b" and half")
    assert path.read_bytes() == b"half and half"
    assert os.listdir(tmp_path) == ["out"]
    assert path.stat().st_mode & 0o777 == 0o666 & ~_umask()


def test_an_error_leaves_nothing(way, tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "out", replace=False) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_existing_files_are_kept_or_replaced(way, tmp_path):
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(OutputError, match="already exists"):
        atomic_file(path, replace=False).__enter__()
    with pytest.raises(ZeroDivisionError), atomic_file(path, replace=True) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    with atomic_file(path, replace=True) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_that_came_meanwhile_is_kept(way, tmp_path):
    path = tmp_path / "out"
    with pytest.raises(OutputError, match="already exists"), atomic_file(path, replace=False) as file:
        file.write(b"new")
        path.write_text("someone else's")
    assert path.read_text() == "someone else's"
    assert os.listdir(tmp_path) == ["out"]


def test_a_file_that_came_at_the_last_moment_is_kept(way, tmp_path, monkeypatch):
    path = tmp_path / "out"
    with pytest.raises(OutputError, match="already exists"), atomic_file(path, replace=False) as file:
        file.write(b"new")
        monkeypatch.setattr(atomic, "_check_target", lambda *_: path.write_text("someone else's"))
    assert path.read_text() == "someone else's"
    assert os.listdir(tmp_path) == ["out"]


def test_links_are_followed_and_devices_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_file(tmp_path / "link", replace=False) as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"
    with pytest.raises(OutputError, match="not a plain file"):
        atomic_file("/dev/null", replace=True).__enter__()
    with pytest.raises(OutputError, match="No such file"):
        atomic_file(tmp_path / "no" / "folder", replace=False).__enter__()


def test_a_killed_process_leaves_nothing(tmp_path):
    code = f"""
    import os, signal
    from treemend.atomic import atomic_file
    with atomic_file({str(tmp_path / "out")!r}, replace=False) as file:
        file.write(b"x" * 10**6)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    if hasattr(os, "O_TMPFILE"):
        assert os.listdir(tmp_path) == []


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
