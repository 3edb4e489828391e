"""A folder of Parquet files, repaired file by file into another folder: here, or on a Dask cluster.

Every part appears complete or not at all, so one that exists is done, and a run that was stopped continues when it is
started again. ``_treemend.json`` in each output folder says which run its parts are of; parts of another run are
refused. Workers read and write the folders themselves, by the same paths as this process.
"""

import json
import logging
import os
import socket
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import treemend
from treemend import progress
from treemend.atomic import atomic_file
from treemend.cli import run
from treemend.cli.app import Options, say
from treemend.cli.errors import require
from treemend.cli.reference import Estimator, Reference, find_reference, open_files
from treemend.exceptions import ColumnsError, InputError, OutputError, ParameterError
from treemend.files.table import files_of
from treemend.model_file import checksum_of
from treemend.report.words import headline
from treemend.tables import columns_difference, counted
from treemend.threads import thread_count

RUN_FILE = "_treemend.json"
SECONDS_TO_CONNECT = 10
_NEXT_STEP = "Choose another folder, or give --force to do all parts again."


def is_folder_to_folder(options: Options) -> bool:
    """Tell whether rows are to be mended file by file: the one input is a folder, and the output is to be one."""
    is_file = options.output == "-" or Path(options.output).suffix
    return len(options.paths) == 1 and os.path.isdir(options.paths[0]) and not is_file


def mend(options: Options) -> str:
    """Mend the parts that do not exist yet, and say what was found in them."""
    _check(options)
    folder, output, mask = options.paths[0], options.output, options.mask
    names = [os.path.relpath(file, folder) for file in files_of(folder)]
    first = open_files([os.path.join(folder, names[0])], options)
    reference = find_reference(first, options)
    same = {
        "version of treemend": treemend.__version__,
        "model": checksum_of(options.model),
        "false-alarm rate": options.false_alarm_rate,
        "choice of columns": [first.names[column] for column in reference.columns],
    }
    states = [os.stat(os.path.join(folder, name)) for name in names]
    inputs = {name: [state.st_size, state.st_mtime_ns] for name, state in zip(names, states, strict=True)}
    for target, content in ((output, "repaired rows"), (mask, "masks")):
        if target is not None:
            _claim_folder(Path(target), same | {"kind of content": content}, inputs, force=options.force)
    # What is to be done with each part, as options of its own, whose paths mean the same to any process.
    parts = []
    for name in names:
        paths = [folder and os.path.join(os.path.abspath(folder), name) for folder in (folder, output, mask)]
        own = {"paths": paths[:1], "output": paths[1], "mask": paths[2], "quiet": True}
        parts.append(Options(**vars(options) | own))
    left = [part for part in parts if not all(os.path.exists(path) for path in (part.output, part.mask) if path)]
    if len(left) < len(parts):
        say(f"{output}: {len(parts) - len(left)} of {counted(len(parts), 'part')} exist already", quiet=options.quiet)
    if not left:
        return "nothing left to do"
    mend_part = partial(_mend_part, names=first.names, columns=reference.columns)
    here = (mend_part(part, reference.estimator) for part in left)
    totals: Counter[str] = Counter()
    with progress.step(f"mending {folder}", len(left)):
        for counts in here if options.dask is None else _mended_by_workers(left, mend_part, options):
            totals.update(counts)
            progress.advance(1, f"{totals['rows']:,} rows")
    return f"{counted(len(left), 'part')} mended. {headline(totals, repaired=True)}"


def _check(options: Options) -> None:
    """Refuse what cannot be done part by part."""
    if not is_folder_to_folder(options):
        raise ParameterError("--dask needs one folder of Parquet files, and a folder as output. Leave --dask out.")
    if options.dask is not None:
        require("distributed", "--dask", "dask")
    if options.model is None:
        raise ParameterError("Repairing a folder file by file needs --model. Make one with treemend fit first.")
    if options.report or options.json or options.findings or options.fdr is not None:
        remedy = "Leave them out, or write to one file instead of a folder, such as -o repaired.parquet."
        raise ParameterError(f"--report, --json, --findings and --fdr need all rows at once. {remedy}")
    folders = [Path(os.path.realpath(folder)) for folder in (*options.paths, options.output, options.mask) if folder]
    for outer, inner in permutations(folders, 2):
        if inner.is_relative_to(outer):
            raise OutputError(f"{inner} is, or lies within, {outer}. Choose folders apart from each other.")


def _mend_part(part: Options, model: Any, *, names: tuple[str, ...], columns: tuple[int, ...]) -> dict[str, int]:
    """Mend one part; the repaired rows appear last, so that where they are, the mask is."""
    if not isinstance(model, Estimator):
        from treemend.dask.chunks import loaded

        model = loaded(model)
    if not os.path.isfile(part.paths[0]):
        remedy = "Workers must see the folders under the same paths as this command."
        raise InputError(f"{part.paths[0]} does not exist on {socket.gethostname()}. {remedy}")
    table = open_files(part.paths, part)
    if table.names != names:
        difference = columns_difference(names, table.names).replace("\n", "; ")
        raise ColumnsError(f"{part.paths[0]} does not have the columns of the first part: {difference}.")
    for path in filter(None, (part.output, part.mask)):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    reference = Reference(model, "model", columns, part.false_alarm_rate)
    return dict(run.mend(part, table, reference, overwrite=True)["summary"]["totals"])


def _mended_by_workers(parts: list[Options], mend_part: Any, options: Options) -> Iterator[dict[str, int]]:
    """Mend parts on a cluster, and yield what was found in each as it is done."""
    from distributed import KilledWorker, as_completed

    from treemend.dask.chunks import ModelFile

    with _client(options.dask, options.n_jobs) as client:
        model = ModelFile.at(options.model)
        futures = client.map(mend_part, parts, model=model, pure=False)
        path_of = {future: part.paths[0] for future, part in zip(futures, parts, strict=True)}
        for future in as_completed(list(path_of), loop=client.loop):
            try:
                yield future.result()
            except (KilledWorker, CancelledError, ModuleNotFoundError) as error:
                problem = f"{path_of[future]}: workers died, are out of reach, or lack a package: {error}"
                remedy = "Give them more memory (docs/scaling.md) or the same treemend; the command then continues."
                raise OutputError(f"{problem}. {remedy}") from None


def _client(address: str, n_jobs: int | None) -> Any:
    """Connect to a scheduler, or start one with single-threaded workers on this machine."""
    from distributed import Client

    from treemend.dask.chunks import local_client

    # What goes wrong is said by this command, in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    if address == "local":
        return local_client(thread_count(n_jobs))
    if n_jobs is not None:
        raise ParameterError("--n-jobs is for --dask local: how many threads workers have is set where they run.")
    try:
        return Client(address, timeout=SECONDS_TO_CONNECT, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        problem = f"No Dask scheduler answers at {address} ({error})"
        raise ParameterError(f"{problem}. Give its address, as tcp://HOST:PORT, or local.") from None


def _claim_folder(folder: Path, run: dict[str, Any], inputs: dict[str, list[int]], *, force: bool) -> None:
    """Make a folder the run's own, or refuse one that holds anything else; with ``force``, remove parts of any run.

    Equal values of ``run`` mean that parts are the same, bit for bit; ``inputs`` are size and time of the input parts.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        problem = "is not a folder" if folder.exists() else f"cannot be made: {error.strerror}"
        raise OutputError(f"{folder} {problem}, and parts go into a folder. Choose another name.") from None
    known: dict[str, Any] = {}
    with suppress(OSError, ValueError, TypeError):  # Nothing is known if there is no such file, or a damaged one.
        known |= json.loads((folder / RUN_FILE).read_bytes())
    before = known.get("parts")
    before = before if isinstance(before, dict) else {}
    if force:
        for name in (RUN_FILE, *inputs, *before):
            (folder / name).unlink(missing_ok=True)
        before = {}
    elif any(folder.iterdir()):
        if not (folder / RUN_FILE).exists():
            raise OutputError(f"{folder} holds files, and none says that they are of such a run. {_NEXT_STEP}")
        differing = [name for name in run if run[name] != known.get(name)]
        if differing:
            raise OutputError(f"{folder} holds parts of a run with another {' and '.join(differing)}. {_NEXT_STEP}")
    for part, state in inputs.items():
        if before.get(part, state) != state and (folder / part).exists():
            raise OutputError(f"{folder / part} already exists, and its input has changed since. {_NEXT_STEP}")
    with atomic_file(folder / RUN_FILE, replace=True) as file:
        file.write(json.dumps(run | {"parts": {**before, **inputs}}, indent=1).encode("ascii") + b"\n")
