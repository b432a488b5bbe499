"""What a driven task must have come to, which no recording shows enough to judge: that it has read all there is when
faults are over, and that one which ends in order, with a last commit that succeeds, leaves nothing over.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fencepost.properties.derived import AtRest
from fencepost.properties.driving import Event, Made, Message, read
from fencepost.properties.history.related import Setting, declared, each, following, greatest
from fencepost.properties.history.words import Words
from fencepost.properties.monitoring import Broken, Concerned
from fencepost.properties.source_commits.events import SOURCE_COMMITS, Kind

PARTITION = ("partition",)
POLLED_MOST = greatest("record", Kind.polled, by=PARTITION)

EVERYTHING_POLLED = declared(
    "everything_polled", "src.P4", "once faults stop, a task reads all there is",
    each(Kind.audited, by=PARTITION),
    POLLED_MOST.missing | (POLLED_MOST.record < Setting("records")),
    Words(SOURCE_COMMITS).saying("the last that was polled is", "nothing was polled"), explained=POLLED_MOST,
    given=following(Kind.audited, by=PARTITION).missing, needs_quiet_end=True,
)  # fmt: skip

DONE = frozenset({"acknowledged", "given_up", "filtered"})
TASK = 0
"""The thread of the last commit."""


class Ending:
    """What is known of one instance: ``polled``: records with their source offsets, by source partition, in order;
    ``left``: what its last commit must cover, once it is asked to stop; ``told``: that commit has succeeded."""

    def __init__(self) -> None:
        self.polled = defaultdict[int, list[tuple[int, int]]](list)
        self.done: dict[tuple[int, int], str] = {}
        self.left: dict[int, int] = {}
        self.told = False

    def committable(self) -> dict[int, int]:
        """By source partition, the offset of the last acknowledged record before which none is in flight (src.3)."""
        found = {}
        for partition, records in self.polled.items():
            for record, offset in records:
                how = self.done.get((partition, record))
                if how is None:
                    break
                if how != "filtered":
                    found[partition] = offset
        return found


class InTheEnd(AtRest):
    """Of a run: its instances, and what is stored."""

    further = (EVERYTHING_POLLED,)

    def __init__(self, config: Any, expecting: frozenset[str]) -> None:
        super().__init__(config, expecting)
        self.instances = defaultdict[int, Ending](Ending)
        self.stored = defaultdict[int, int](int)

    def watch(
        self, made: Made, events: Sequence[Event], messages: Sequence[Message]
    ) -> Iterable[tuple[Broken, Concerned]]:
        """Once an instance is asked to stop, all that was acknowledged by then, and behind nothing in flight, is in
        its last commit: where that has succeeded, it is stored when the instance is over (src.P3, src.12)."""
        for event in events:
            kind, instance = read(event, "kind"), self.instances[read(event, "instance", -1)]
            partition, offset = read(event, "partition", -1), read(event, "offset", 0)
            if kind == "polled":
                instance.polled[partition].append((read(event, "record"), offset))
            elif kind in DONE:
                instance.done.setdefault((partition, read(event, "record")), kind)
            elif kind == "offset_written":
                self.stored[partition] = offset
            elif kind == "stopping" and read(event, "outcome") == 1:
                instance.left = instance.committable()
            elif kind == "told" and read(event, "thread") == TASK:
                instance.told = bool(instance.left)
            elif kind == "instance_stopped" and instance.told:
                for each_partition, must in instance.left.items():
                    if self.stored[each_partition] < must:
                        text = (
                            f"an instance that has ended in order leaves over what was acknowledged up to {must} of "
                            f"source partition {each_partition}: {self.stored[each_partition]} is stored"
                        )
                        yield Broken("src.P3", text, event=event), frozenset()
