"""Leading a cluster about: through everything once, to find out what it shows; and on from where it disagreed, to find
out what comes of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fencepost.properties.driving import Run
from fencepost.properties.transactions.driving.programs import EXPIRY_MS, Call

SMALL: Mapping[str, Any] = dict(seed=0, clients=2, partitions=1, groups=1, max_epoch=32767)
"""A cluster on which everything can be tried."""

DATA, OFFSETS = 0, 1  # its partitions


def tour(variant: str) -> list[Call]:
    """Calls that make every kind of event happen in an implementation that is right."""
    init, begin, commit, abort = (Call(name, 0) for name in ("init", "begin", "commit", "abort"))
    rest = iter(range(10, 90, 2))

    def settled() -> Call:
        """An open transaction times out meanwhile."""
        return Call("settle", next(rest), DATA + 1, 1)

    reads = [Call("read", 0, DATA), Call("read", 1, DATA, 0), Call("fetch_offset", 0, OFFSETS)]
    ended = [_to("end"), Call("log_append"), _from("end")]
    old_marker = [_marker(keep=True), Call("fail_over"), _marker(nth=1), _marker()]
    unwritten = [
        Call("send", 0, DATA), _to("add"), _to("produce", "partition-0"), _check(), Call("log_append", value=0),
    ]  # fmt: skip
    return [
        init, _to("init"), Call("log_append", value=0), _from("init"), settled(),
        begin, *_record(DATA), *_record(OFFSETS), *reads, commit, *ended, *old_marker, settled(), *reads,
        begin, *_record(DATA), Call("change_leader", partition=DATA), abort, *ended, settled(),
        begin, *unwritten, settled(), Call("restart_client", 0), init, settled(),
        begin, *_record(DATA), Call("send", 0, DATA), Call("fence"), settled(),
        Call("restart_client", 0), init, settled(), begin, *_record(DATA), Call("init", 1), settled(), commit,
        settled(), Call("advance", value=EXPIRY_MS), settled(),
    ]  # fmt: skip


def _to(kind: str, target: str = "coordinator", **rest: Any) -> Call:
    return Call("deliver", kind=kind, source="client-0", target=target, **rest)


def _from(kind: str, source: str = "coordinator") -> Call:
    return Call("deliver", kind=f"{kind}_answer", source=source, target="client-0")


def _check(partition: int = DATA) -> Call:
    return Call("deliver", kind="check", source=f"partition-{partition}", target="coordinator")


def _marker(**rest: Any) -> Call:
    return Call("deliver", kind="marker", source="coordinator", target="partition-0", **rest)


def _record(partition: int) -> list[Call]:
    """A record is written, and a copy of it comes."""
    leader = f"partition-{partition}"
    told = Call("deliver", kind="check_answer", source="coordinator", target=leader)
    return [
        Call("send", 0, partition), _to("add"), Call("log_append"), _from("add"), _to("produce", leader, keep=True),
        _check(partition), Call("log_append"), told, _to("produce", leader), _from("produce", leader),
    ]  # fmt: skip


def settle(run: Run) -> Iterator[None]:
    """Leave it alone, and look."""
    sizes = {"partition": run.config["partitions"], "value": run.config["groups"]}
    run.call(Call("settle", 200, **sizes))
    yield
    run.call(Call("probe", **sizes))
    yield


WAYS: dict[str, Callable[[Run], Iterator[None]]] = {"": settle}
