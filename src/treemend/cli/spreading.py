"""``mend --dask``: a folder of Parquet files, mended part by part on a cluster.

Enters: what was asked, and where the cluster is. Leaves: one output part for each input part, each whole or not there;
parts of the same run that are there already stay as they are.

The workers read and write the folders themselves, by the same paths as this process. Each reads the model once.
"""

import os
import socket
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import treemend
from treemend.cli.extras import need
from treemend.cli.learning import Judge, model_columns, names_of
from treemend.cli.mending import Reading, Reference
from treemend.cli.run_folders import Run, claim_folder, states_of
from treemend.cli.talking import Talk
from treemend.cli.walking import Targets, walk
from treemend.cli.wording import sentence
from treemend.exceptions import ColumnsError, InputError, OutputError, ParameterError
from treemend.files import FileTable, files_of, open_table
from treemend.mender import ModelFile, TreeMender
from treemend.report.plain import counted
from treemend.tables import columns_difference
from treemend.atomic import AtomicFile

__all__ = ["mend"]

LOCAL = "local"
_SECONDS_TO_CONNECT = 10
_SAME_FOLDERS = "Workers must see the folders under the same paths as this command."


@dataclass(frozen=True)
class Part:
    """One file to read, and those to write."""

    suspect: str
    output: str
    mask: str | None

    @property
    def done(self) -> bool:
        """Whether all that is to be written is there."""
        return all(os.path.exists(path) for path in (self.output, self.mask) if path is not None)


@dataclass(frozen=True, eq=False)
class Desk:
    """What a worker needs for any part: the model, the columns of all parts, and those to look at."""

    model: ModelFile
    names: tuple[str, ...]
    chosen: tuple[int, ...]


def mend(
    paths: tuple[str, ...], reference: Reference, targets: Targets, reading: Reading, address: str, talk: Talk
) -> str:
    """Mend the parts that are not there yet, and return a line that says what was found in them."""
    need("distributed", "--dask", "dask")
    path, output = _check(paths, reference, targets)
    (folder,) = paths
    names = tuple(os.path.relpath(file, folder) for file in files_of(folder))
    first = reading.table((os.path.join(folder, names[0]),))
    wanted = reading.chosen(first) if reading.columns or reading.passthrough else None
    # The mender itself is not kept: only workers need it.
    chosen = model_columns(TreeMender.load(path), first, wanted)
    model = ModelFile(path)
    states = states_of(folder, names)
    for target, contents in ((output, "repaired rows"), (targets.mask, "masks")):
        if target is not None:
            columns = tuple(first.names[column] for column in chosen)
            claim_folder(
                target, Run(treemend.__version__, model.checksum, columns, contents), states, force=targets.force
            )
    parts = [_part(folder, output, targets.mask, name) for name in names]
    left = [part for part in parts if not part.done]
    if len(left) < len(parts):
        talk.say(f"{output}: {len(parts) - len(left)} of {counted(len(parts), 'part')} were there already")
    if not left:
        return f"{output}: all {counted(len(parts), 'part')} were there already"
    with _connected(address, reference.asked.jobs) as client:
        # One key for all parts, so that a worker opens the model once.
        desk = client.submit(Desk, model, first.names, chosen, pure=False)
        totals = _gathered(client, desk, left, f"mending {folder}", talk)
    return f"{output}: {counted(len(left), 'part')} mended; {sentence(totals, filled=True)}"


def _check(paths: tuple[str, ...], reference: Reference, targets: Targets) -> tuple[str, str]:
    """Refuse what cannot be done part by part; return the model and the output folder."""
    if len(paths) != 1 or not os.path.isdir(paths[0]):
        raise ParameterError("--dask repairs one folder of Parquet files. Give such a folder, or leave --dask out.")
    if reference.model is None or reference.clean:
        raise ParameterError("--dask needs a model. Learn it with treemend fit first, and give it with --model.")
    if reference.asked.anything_to_learn:
        raise ParameterError("A model has its parameters already. Give them to treemend fit.")
    if targets.report or targets.summary:
        raise ParameterError(
            "--report and --json need all rows in one process. Leave them out, or run treemend check on single parts."
        )
    places = [Path(os.path.realpath(path)) for path in (paths[0], targets.output, targets.mask) if path is not None]
    for place in places:
        for other in places:
            if place is not other and (place == other or place in other.parents):
                raise OutputError(f"{other} lies within {place}. Choose folders apart from each other.")
    if targets.output is None:
        raise AssertionError("mend has an output")
    return reference.model, targets.output


def _part(folder: str, output: str, mask: str | None, name: str) -> Part:
    suspect, repaired, masked = (
        None if place is None else os.path.join(os.path.abspath(place), name) for place in (folder, output, mask)
    )
    if suspect is None or repaired is None:
        raise AssertionError("a part has an input and an output")
    return Part(suspect, repaired, masked)


@contextmanager
def _connected(address: str, jobs: int | None) -> Iterator[Any]:
    """Connect to a scheduler, or start one with single-threaded workers on this machine."""
    import logging

    from distributed import Client

    from treemend.dask.local import local_client

    # What goes wrong is told by this command, in one line.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        if address == LOCAL:
            import joblib

            yield stack.enter_context(local_client(jobs if jobs and jobs > 0 else int(joblib.cpu_count())))
            return
        if jobs is not None:
            raise ParameterError("--jobs is for --dask local: how many threads workers have is settled where they run.")
        try:
            client = Client(address, timeout=_SECONDS_TO_CONNECT, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise ParameterError(
                f"No Dask scheduler answers at {address} ({error}). Give its address, as tcp://HOST:PORT, or local."
            ) from None
        yield stack.enter_context(client)


def _gathered(client: Any, desk: Any, parts: list[Part], what: str, talk: Talk) -> dict[str, int]:
    """Mend parts on the workers, and add up what they say."""
    from distributed import KilledWorker, as_completed

    totals: dict[str, int] = {}
    part_of = dict(zip(client.map(_mend_part, parts, desk=desk, pure=False), parts, strict=True))
    go_on = "The parts that are done stay; the same command goes on with the others."
    with talk.progress(what) as tell:
        for n_done, future in enumerate(as_completed(list(part_of), loop=client.loop), start=1):
            try:
                found = future.result()
            except KilledWorker:
                raise InputError(
                    f"{part_of[future].suspect}: workers died again and again while they mended it, most likely for "
                    f"want of memory. Give them more (docs/scaling.md). {go_on}"
                ) from None
            except CancelledError:
                raise OutputError(f"The scheduler went away. {go_on}") from None
            except ModuleNotFoundError as error:
                raise ParameterError(f"{error} on a worker. Install the same treemend there.") from None
            totals = {name: totals.get(name, 0) + count for name, count in found.items()}
            tell(n_done / len(parts), totals["rows"])
    return totals


def _mend_part(part: Part, desk: Desk) -> dict[str, int]:
    """Mend one part, on a worker; the repaired rows appear last: where they are, the mask is."""
    if not os.path.isfile(part.suspect):
        raise InputError(f"{part.suspect} is not there on {socket.gethostname()}. {_SAME_FOLDERS}")
    table = _opened(part.suspect, desk.names)
    with ExitStack() as stack:
        files = {}
        for path in (part.output, part.mask):
            if path is not None:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                files[path] = stack.enter_context(AtomicFile(path, replace=True)).file
        targets = Targets(part.output, part.mask)
        mender = desk.model.mender
        summary = walk(table, desk.chosen, Judge(mender, names_of(mender)), targets, files, None, Talk(quiet=True))
    totals: dict[str, int] = summary["totals"]
    return totals


def _opened(path: str, names: tuple[str, ...]) -> FileTable:
    table = open_table([path])
    if table.names != names:
        difference = columns_difference(names, table.names).replace("\n", "; ")
        raise ColumnsError(f"{path} does not have the columns of the first part: {difference}.")
    return table
