"""The lanes of events that an implementation or a history shows: the processes that their columns name.

What an event fills is a mapping from its columns to their values, without those that do not apply to it.
"""

from collections.abc import Iterable, Mapping, Sequence

from fencepost.proofs.pages.stories import CENTRE, Step

Filled = Mapping[str, int]

PROCESSES = ("client", "node", "broker", "slot", "thread", "instance", "owner", "task", "connector", "partition")
"""Columns whose values have lanes: an event stands in the lane of the first that it fills, and reaches the others."""


def lanes_of(filled: Filled) -> list[str]:
    """The lanes that an event names, its own first: the centre if it names none."""
    return [f"{name} {filled[name]}" for name in PROCESSES if name in filled] or [CENTRE]


def in_order(named: Iterable[Sequence[str]]) -> list[str]:
    """All of these lanes, by process and number; the centre comes last."""
    seen = {lane for lanes in named for lane in lanes}
    ordered = sorted(seen - {CENTRE}, key=lambda lane: (PROCESSES.index(lane.split()[0]), int(lane.split()[1])))
    return [*ordered, *([CENTRE] if CENTRE in seen else [])]


def event_step(kind: str, filled: Filled, lanes: Sequence[str], says: str) -> Step:
    """An event in its place among all lanes; ``says``: a sentence of it."""
    named = lanes_of(filled)
    own, *others = [lanes.index(lane) for lane in named]
    words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in filled.items() if name not in PROCESSES)
    told = f"{says} It names {', '.join(named)}."
    return Step(kind.replace("_", " "), words, told, own, tuple(others), (), (), ())
