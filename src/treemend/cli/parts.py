"""A folder of Parquet files, repaired file by file into another folder: here, or on a Dask cluster.

Every part appears complete or not at all, so one that exists is done, and a run that was stopped continues when it is
started again. ``_treemend.json`` in each output folder says which run its parts are of; parts of another run are
refused. Workers read and write the folders themselves, by the same paths as this process.
"""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import treemend
from treemend import progress
from treemend.atomic import AtomicFile
from treemend.cli.console import say
from treemend.cli.errors import require
from treemend.cli.options import SuspectOptions
from treemend.cli.reference import Estimator, Reference, find_reference, open_files
from treemend.cli.run import check_options, mend_table
from treemend.exceptions import ColumnsError, InputError, OutputError, ParameterError
from treemend.files import files_of
from treemend.model_file import checksum_of
from treemend.report.words import counted, headline
from treemend.tables import columns_difference

__all__ = ["is_folder_to_folder", "mend"]

RUN_FILE = "_treemend.json"
LOCAL = "local"
SECONDS_TO_CONNECT = 10
_NEXT_STEP = "Choose another folder, or give --force to do all parts again."
_CONTINUES = "The parts that are done stay; the same command continues with the others."


class Part(NamedTuple):
    """One file to read, and those to write, as absolute paths."""

    suspect: str
    output: str
    mask: str | None


@dataclass(frozen=True, eq=False)
class Job:
    """What all parts have in common: the columns of the files, those that are looked at, and the options."""

    names: tuple[str, ...]
    columns: tuple[int, ...]
    options: SuspectOptions


def is_folder_to_folder(paths: tuple[str, ...], output: str) -> bool:
    """Tell whether rows are to be mended file by file: the one input is a folder, and the output is to be one."""
    return len(paths) == 1 and os.path.isdir(paths[0]) and output != "-" and not Path(output).suffix


def mend(paths: tuple[str, ...], output: str, mask: str | None, dask: str | None, options: SuspectOptions) -> str:
    """Mend the parts that do not exist yet, and return a line that says what was found in them."""
    _check(paths, output, mask, dask, options)
    (folder,) = paths
    names = tuple(os.path.relpath(file, folder) for file in files_of(folder))
    first = open_files((os.path.join(folder, names[0]),), options)
    reference = find_reference(first, options)
    sizes = {name: _size_and_time(os.path.join(folder, name)) for name in names}
    run = {
        "treemend": treemend.__version__,
        "model": checksum_of(options.model or ""),
        "rate": options.false_alarm_rate,
        "columns": [first.names[column] for column in reference.columns],
    }
    for target, contents in ((output, "repaired rows"), (mask, "masks")):
        if target is not None:
            _claim_folder(Path(target), run | {"contents": contents}, sizes, force=options.force)
    parts = [Part(_under(folder, name), _under(output, name), mask and _under(mask, name)) for name in names]
    left = [part for part in parts if not all(os.path.exists(path) for path in part[1:] if path is not None)]
    if len(left) < len(parts):
        say(f"{output}: {len(parts) - len(left)} of {counted(len(parts), 'part')} exist already", quiet=options.quiet)
    job = Job(first.names, reference.columns, replace(options, quiet=True))
    here = (_mend_part(part, job, reference.estimator) for part in left)
    totals: dict[str, int] = {}
    with progress.step(f"mending {folder}", len(left)):
        for found in here if dask is None else _mended_by_workers(left, job, dask):
            totals = {name: totals.get(name, 0) + count for name, count in found.items()}
            progress.advance(1, f"{totals['rows']:,} rows")
    if not left:
        return f"{output}: nothing left to do"
    return f"{output}: {counted(len(left), 'part')} mended. {headline(totals, repaired=True)}"


def _check(paths: tuple[str, ...], output: str, mask: str | None, dask: str | None, options: SuspectOptions) -> None:
    """Refuse what cannot be done part by part."""
    if not is_folder_to_folder(paths, output):
        raise ParameterError("--dask needs one folder of Parquet files, and a folder as output. Leave --dask out.")
    if dask is not None:
        require("distributed", "--dask", "dask")
    check_options(paths, options)
    if options.model is None:
        raise ParameterError("Repairing a folder file by file needs --model. Make one with treemend fit first.")
    if options.report or options.json or options.findings or options.fdr is not None:
        raise ParameterError(
            "--report, --json, --findings and --fdr need all rows at once. Leave them out, or write to one file "
            "instead of a folder, such as -o repaired.parquet."
        )
    places = [Path(os.path.realpath(path)) for path in (paths[0], output, mask) if path is not None]
    for place in places:
        for other in places:
            if place is not other and (place == other or place in other.parents):
                raise OutputError(f"{other} lies within {place}. Choose folders apart from each other.")


def _under(folder: str, name: str) -> str:
    return os.path.join(os.path.abspath(folder), name)


def _mend_part(part: Part, job: Job, estimator: Estimator) -> dict[str, int]:
    """Mend one part; the repaired rows appear last, so that where they are, the mask is."""
    if not os.path.isfile(part.suspect):
        raise InputError(
            f"{part.suspect} does not exist on {socket.gethostname()}. Workers must see the folders under the same "
            "paths as this command."
        )
    table = open_files((part.suspect,), job.options)
    if table.names != job.names:
        difference = columns_difference(job.names, table.names).replace("\n", "; ")
        raise ColumnsError(f"{part.suspect} does not have the columns of the first part: {difference}.")
    for path in (part.output, part.mask):
        if path is not None:
            os.makedirs(os.path.dirname(path), exist_ok=True)
    reference = Reference(estimator, "model", job.columns, job.options.false_alarm_rate)
    outcome = mend_table(table, reference, part.output, part.mask, job.options, is_part=True)
    totals: dict[str, int] = outcome.summary["totals"]
    return totals


def _mend_on_worker(part: Part, job: Job, model: Any) -> dict[str, int]:
    from treemend.dask.chunks import loaded

    return _mend_part(part, job, loaded(model))


def _mended_by_workers(parts: list[Part], job: Job, address: str) -> Iterator[dict[str, int]]:
    """Mend parts on a cluster, and yield what was found in each as it is done."""
    from distributed import KilledWorker, as_completed

    from treemend.dask.chunks import ModelFile

    if not parts:
        return
    with _connected(address, job.options.n_jobs) as client:
        model = ModelFile.at(job.options.model or "")
        futures = client.map(_mend_on_worker, parts, job=job, model=model, pure=False)
        part_of = dict(zip(futures, parts, strict=True))
        for future in as_completed(list(part_of), loop=client.loop):
            try:
                yield future.result()
            except KilledWorker:
                raise InputError(
                    f"{part_of[future].suspect}: workers died repeatedly while they mended it, probably out of memory. "
                    f"Give them more (docs/scaling.md). {_CONTINUES}"
                ) from None
            except CancelledError:
                raise OutputError(f"The connection to the scheduler was lost. {_CONTINUES}") from None
            except ModuleNotFoundError as error:
                raise ParameterError(f"{error} on a worker. Install the same treemend there.") from None


@contextmanager
def _connected(address: str, n_jobs: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or start one with single-threaded workers on this machine."""
    import logging

    from distributed import Client

    from treemend.dask.cluster import local_client
    from treemend.threads import thread_count

    # What goes wrong is said by this command, in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address == LOCAL:
        with local_client(thread_count(n_jobs)) as client:
            yield client
        return
    if n_jobs is not None:
        raise ParameterError("--n-jobs is for --dask local: how many threads workers have is set where they run.")
    try:
        client = Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ParameterError(
            f"No Dask scheduler answers at {address} ({error}). Give its address, as tcp://HOST:PORT, or local."
        ) from None
    with client:
        yield client


def _size_and_time(path: str) -> list[int]:
    state = os.stat(path)
    return [state.st_size, state.st_mtime_ns]


def _claim_folder(folder: Path, run: dict[str, Any], inputs: Mapping[str, list[int]], *, force: bool) -> None:
    """Make a folder the run's own, or refuse one that holds anything else.

    Equal values of ``run`` mean that parts are the same, bit for bit; ``inputs`` are size and time of the input parts.
    With ``force``, existing parts are removed, whichever run they are of.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise OutputError(f"{folder} is not a folder, and parts go into one. Choose another name.") from None
    except OSError as error:
        raise OutputError(f"{folder} cannot be made: {error.strerror}. Choose another place.") from None
    known = _read_run_file(folder)
    if force:
        (folder / RUN_FILE).unlink(missing_ok=True)
        for part in {*inputs, *(known or {}).get("parts", {})}:
            (folder / part).unlink(missing_ok=True)
        known = None
    elif known is None and any(folder.iterdir()):
        raise OutputError(f"{folder} holds files, and none says that they are of such a run. {_NEXT_STEP}")
    before = {} if known is None else _same_run(folder, known, run, inputs)
    with AtomicFile(folder / RUN_FILE, replace=True) as file:
        file.file.write(json.dumps(run | {"parts": {**before, **inputs}}, indent=1).encode("ascii") + b"\n")


def _read_run_file(folder: Path) -> dict[str, Any] | None:
    """Return what the folder says of its run: None if it says nothing, an empty dict if that cannot be read."""
    try:
        known = json.loads((folder / RUN_FILE).read_bytes())
        return known if isinstance(known, dict) and isinstance(known.get("parts"), dict) else {}
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return {}


def _same_run(
    folder: Path, known: dict[str, Any], run: dict[str, Any], inputs: Mapping[str, list[int]]
) -> dict[str, Any]:
    """Return the parts that the run knew before; refuse another run's, and outputs of inputs that have changed."""
    words = {
        "treemend": f"another version of treemend ({known.get('treemend')})",
        "model": "another model",
        "rate": f"another false-alarm rate ({known.get('rate')})",
        "columns": "other columns",
        "contents": f"{known.get('contents')} instead of {run['contents']}",
    }
    difference = ", ".join(words[name] for name in run if run[name] != known.get(name))
    if difference:
        raise OutputError(f"{folder} holds parts of another run: {difference}. {_NEXT_STEP}")
    before: dict[str, Any] = known["parts"]
    for part, state in inputs.items():
        if before.get(part, state) != state and (folder / part).exists():
            raise OutputError(f"{folder / part} already exists, and its input has changed since. {_NEXT_STEP}")
    return before
