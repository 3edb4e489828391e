"""The crew that keeps the shards of a reference on a cluster, and asks them (see `treemend.reference.Crew`).

Enters: futures of shards. Leaves: answers. A question goes to the workers that have the shards, the answers are merged
there two by two, and one answer comes back. A crew may be asked from the client's process and from within a task: it
travels as the names of its shards. The shards live as long as the crew lives where it was made; those that are lost
with a worker are made again by the cluster.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from distributed import Client, Future, get_client, get_worker, worker_client

__all__ = ["ClusterCrew", "seat"]

_SOONER = 10
_SEATS = threading.BoundedSemaphore(2)


class ClusterCrew:
    """Shards on a cluster; a `treemend.reference.Crew`.

    Parameters
    ----------
    shards : list of Future
    sizes : tuple of int
        Number of rows of each.
    """

    def __init__(self, shards: list[Future], sizes: tuple[int, ...]) -> None:
        self.sizes = sizes
        self._keys = [shard.key for shard in shards]
        self._alive: list[Future] | None = shards

    def __getstate__(self) -> dict[str, Any]:
        """Travel without futures: whoever unpickles them would have to be a client already."""
        return {"sizes": self.sizes, "_keys": self._keys, "_alive": None}

    def made(self, make: Callable[..., Any], *arguments: Any) -> "ClusterCrew":
        """Return a crew that keeps ``make(shard, *arguments)``, each where its shard is."""
        with _connected() as client:
            made = [client.submit(make, shard, *arguments, pure=False) for shard in self._shards(client)]
            return ClusterCrew(made, self.sizes)

    def ask(self, question: Callable[..., Any], merge: Callable[[Any, Any], Any], *arguments: Any) -> Any:
        """Put ``question(shard, *arguments)`` to all shards, and merge the answers two by two, in a tree."""
        with _connected() as client:
            # A task, so that it can be made again: what is scattered is lost with its worker.
            told = client.submit(_Question, question, arguments, pure=False, priority=_SOONER)
            answers = [
                client.submit(_answer, told, shard, pure=False, priority=_SOONER) for shard in self._shards(client)
            ]
            while len(answers) > 1:
                pairs = [answers[place : place + 2] for place in range(0, len(answers), 2)]
                answers = [
                    client.submit(merge, *pair, pure=False, priority=_SOONER) if len(pair) == 2 else pair[0]
                    for pair in pairs
                ]
            return answers[0].result()

    def _shards(self, client: Client) -> list[Future]:
        return self._alive or [Future(key, client=client) for key in self._keys]


@contextmanager
def seat() -> Iterator[None]:
    """Work within a task that asks others: its thread is free meanwhile, and few such tasks go on at a time."""
    with _connected(), _SEATS:
        yield


class _Question:
    """A question with what it needs to know, sent once for all shards."""

    def __init__(self, question: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.question, self.arguments = question, arguments


def _answer(told: _Question, shard: Any) -> Any:
    return told.question(shard, *told.arguments)


@contextmanager
def _connected() -> Iterator[Client]:
    """Return the client of this process; within a task, one whose waiting does not keep the worker from working."""
    try:
        get_worker()
    except ValueError:
        yield get_client()
        return
    with worker_client() as client:
        yield client
