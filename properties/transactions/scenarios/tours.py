"""Leading a cluster about: through everything once, to find out what it shows; and on from where it disagreed, to find
out what comes of it."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fencepost.properties.driving import Run
from fencepost.properties.transactions.driving.programs import Call, message
from fencepost.properties.transactions.living import slots_of

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

    reads = [Call("read", 0, DATA), Call("read", 1, DATA, False), Call("fetch_offset", 0, OFFSETS)]
    ended = [_to("end"), Call("log_append"), _from("end")]
    old_marker = [_marker(keep=True), Call("fail_over"), _marker(nth=1), _marker()]
    unwritten = [
        Call("send", 0, DATA), _to("add"), _to("produce", "partition-0"), _check(), Call("log_append", ok=False),
    ]  # fmt: skip
    return [
        init, _to("init"), Call("log_append", ok=False), _from("init"), settled(),
        begin, *_record(DATA), *_record(OFFSETS), *reads, commit, *ended, *old_marker, settled(), *reads,
        begin, *_record(DATA), Call("change_leader", partition=DATA), abort, *ended, settled(),
        begin, *unwritten, settled(), Call("restart_client", 0), init, settled(),
        begin, *_record(DATA), Call("send", 0, DATA), Call("fence"), settled(),
        Call("restart_client", 0), init, settled(), begin, *_record(DATA), Call("init", 1), settled(), commit,
        settled(), Call("expire"), settled(),
    ]  # fmt: skip


def _to(kind: str, target: str = "coordinator", keep: bool = False) -> Call:
    return Call("deliver", message(kind, "client-0", target), keep)


def _from(kind: str, source: str = "coordinator") -> Call:
    return Call("deliver", message(f"{kind}_answer", source, "client-0"))


def _check(partition: int = DATA) -> Call:
    return Call("deliver", message("check", f"partition-{partition}", "coordinator"))


def _marker(nth: int = 0, keep: bool = False) -> Call:
    return Call("deliver", message("marker", "coordinator", "partition-0", nth), keep)


def _record(partition: int) -> list[Call]:
    """A record is written, and a copy of it comes."""
    leader = f"partition-{partition}"
    told = Call("deliver", message("check_answer", "coordinator", leader))
    return [
        Call("send", 0, partition), _to("add"), Call("log_append"), _from("add"), _to("produce", leader, keep=True),
        _check(partition), Call("log_append"), told, _to("produce", leader), _from("produce", leader),
    ]  # fmt: skip


def settle(run: Run) -> Iterator[None]:
    """Leave it alone, and look; and have its clients go on."""
    run.call(Call.within(run.config, "settle", 200))
    yield
    for slot in slots_of(run.made):
        run.call(Call.within(run.config, "progress", slot))
        yield
    run.call(Call.within(run.config, "probe"))
    yield


WAYS: dict[str, Callable[[Run], Iterator[None]]] = {"": settle}
