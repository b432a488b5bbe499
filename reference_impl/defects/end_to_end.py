"""This module collects the implementations of the end-to-end system that are wrong in one way each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.reference_impl.connect.brokers import KafkaError
from fencepost.reference_impl.connect.offsets.kafka import GLOBAL
from fencepost.reference_impl.connect.offsets.stores import Found
from fencepost.reference_impl.connect.source_task import SourceTask
from fencepost.reference_impl.connect.threads import Script
from fencepost.reference_impl.defects import group_fencing, id_blocks, source_offsets, task_counts, transactions
from fencepost.reference_impl.kafka.environment import EPOCH_MAX
from fencepost.reference_impl.kafka.group_environment import VARIANTS
from fencepost.reference_impl.simulation.defects import PROMISE, Defect, Registry, defect, registry
from fencepost.reference_impl.systems.end_to_end_kafka import ConnectBrokers, Copied, Inputs, Kind
from fencepost.reference_impl.systems.end_to_end_parts import Parts, ResumingTask, WholeParts

# These defects are in the part that joins the layers: where tasks begin, where their records go, what the group gets,
# and when a call is done.


@defect("618.32", PROMISE)
class ReadsOffsetsFirst(ResumingTask):
    """A task reads its offsets before it opens its producer, while its predecessor may still commit (618.32)."""

    def start_up(self) -> Script:
        mine = self.sources.of_task(self.connector, self.id[1], self.tasks)
        store = self.new_store()
        found: dict[int, Found] = yield from store.get(mine)
        ending = yield from SourceTask.start_up(self)
        if ending is not None:
            return ending
        for partition, there in found.items():
            self.emit_end(Kind.RESUMED, partition, there.offset)
        begun = {partition: there.offset for partition, there in found.items()}
        self.runtime = self.new_runtime(store, begun)
        return None


@defect("618.P2", PROMISE)
class OutputOfTheTask(ResumingTask):
    """A task writes to its own output partition instead of that of the records' source partition (618.P2)."""

    def output_of(self, partition: int) -> int:
        whole = self.brokers.env.whole
        return whole.input_partitions[self.id[1] % whole.inputs]


@defect("618.27", PROMISE)
class RemembersWhatItRead(ResumingTask):
    """A restarted task goes on behind what was last read on its worker, even if uncommitted (618.27)."""

    def new_runtime(self, store: Any, found: dict[int, int]) -> Any:
        read: dict[int, int] = self.herder.__dict__.setdefault("read_here", {})
        return super().new_runtime(store, {p: max(offset, read.get(p, 0)) for p, offset in found.items()})

    def polled(self, partition: int, offset: int) -> None:
        super().polled(partition, offset)
        self.herder.__dict__.setdefault("read_here", {})[partition] = offset


@defect("618.27", PROMISE)
class CommitsWhatIsLeft(ResumingTask):
    """A task that ends commits the records of its open transaction without their offsets (618.27)."""

    def end(self, kind: int, state: str = "", trace: str = "", error: int = 0) -> None:
        left = not self.ended and self.runtime is not None and not self.asked and self.runtime.records
        producer = self.producer
        super().end(kind, state, trace, error)
        if left and producer is not None and not producer.client.error:
            producer.closed = False
            try:
                producer.commit()
            except KafkaError:
                return


@defect("618.31", PROMISE)
class ReadsTheWorkersTopic(ResumingTask):
    """A task begins at the worker's offsets, even if its connector has a topic of its own (618.31)."""

    def new_runtime(self, store: Any, found: dict[int, int]) -> Any:
        there = store.readers[GLOBAL].offsets
        return super().new_runtime(store, {p: there.get(p, 0) for p in found})


@defect("447.P1", PROMISE)
class GetsWhatIsOpen(Inputs):
    """The group gets records of undecided transactions (447.P1)."""

    def end(self, partition: int) -> int:
        reader: Any = self.reader
        read = reader.read
        reader.read = lambda log, committed: read(log, False)
        try:
            return super().end(partition)
        finally:
            reader.read = read


@defect("447.P1", PROMISE)
class CountsMarkers(Inputs):
    """The system takes an input record behind a marker for the record before it (447.P1)."""

    def place(self, partition: int, offset: int) -> Copied:
        place = super().place(partition, offset)
        records = self.found[partition]
        before = records[offset - 1] if offset else records[offset]
        if before.round != place.source.round:  # another producer's, so that a marker is in between
            place.source = before
        return place


@defect("618.32", PROMISE)
class DoneWhenDecided(ConnectBrokers):
    """A commit call returns when the commit is decided, and the next step does not wait for its markers (618.32)."""

    def is_complete(self) -> bool:
        return True


# The registry has the whole system with one defect in one of its layers, named `<layer>:<defect>`, or in the part that
# joins them, named `whole:<defect>`.
#
#     simulate(7, {"broken": "transactions:older_epoch_accepted"})
#
# The keys that a layer's own defect needs are given to that layer, in the time-outs of the whole system. The keys of
# the network and of paces that it needs are in `needs`, as keys of the run.


def is_of_the_runtime(defect: Defect[Any]) -> bool:
    """Return whether the whole system has the defect's part of source offsets, and everything that it needs. The part
    is in the runtime, the stores or their readers. The whole system has no tombstones, dropped records, aborts, or
    operators that switch topics."""
    right, wrong, needs = type(defect.parts)(), defect.parts, dict(defect.needs)
    there = needs.pop("separate", True) and needs.pop("boundary", "interval") == "interval" and not needs
    return there and all(getattr(right, name) is getattr(wrong, name) for name in ("connector", "instance", "owner"))


LAYERS: Mapping[str, tuple[str, Mapping[str, Defect[Any]]]] = {
    "task-counts": ("connect", task_counts.REGISTRY),
    "transactions": ("transactions", transactions.REGISTRY),
    "group-fencing": ("group", group_fencing.REGISTRY),
    "id-blocks": ("ids", id_blocks.REGISTRY),
    "source-offsets": ("source", {name: d for name, d in source_offsets.REGISTRY.items() if is_of_the_runtime(d)}),
}
"""The mapping gives for each protocol the field of the parts and its defects."""

OF_KAFKA = ("mode", "max_epoch", "leader_change", "transaction_timeout_ms")
"""The whole system takes these keys from a defect of transactions, but not the numbers of ids, groups and keys."""
BEFORE_V2 = (("duplicate", 0.0), ("delay", 0.0))
"""Histories before KIP-890's second part have no late copies, because late copies break promises there by design."""
OF_WHAT_IS_LATE = frozenset({
    "add_takes_older_epoch", "added_to_what_is_ending", "completion_keeps_partitions", "failed_add_remembered",
    "failed_fence_never_forgotten", "fenced_offsets_accepted", "init_retry_by_arithmetic", "init_retry_is_fenced",
    "marker_of_nothing_skipped", "markers_by_key_only", "markers_without_coordinator_epoch", "not_rechecked",
    "older_coordinator_accepted", "rebuilt_without_coordinator_epochs", "rebuilt_without_marker_epochs",
    "rechecked_by_state", "unknown_id_verified", "unverified", "verified_once_for_all", "verifies_any_partition",
    "zombie_init_renewed",
})  # fmt: skip
"""Only late copies of messages bring out these defects. The defects are looked for in the vocabulary of transactions
alone, where a violation that a late copy explains does not count, since it may occur without any defect
(`proofs/traces/predicted.py`)."""
LATE = (
    ("drop", 0.01), ("duplicate", 0.03), ("delay", 0.03), ("fail_over", 0.012), ("new_leader", 0.012),
    ("append_failure", 0.01), ("member_restart", 0.006), ("member_pause", 0.01),
)  # fmt: skip
"""These fault rates are those of histories of transactions alone (`transactions/node_faults.py`)."""
OF_IDS = (
    ("id_client_us", 8_000), ("id_broker_restart", 0.04), ("id_broker_pause", 0.02), ("drop", 0.02),
    ("duplicate", 0.04), ("delay", 0.04),
)  # fmt: skip
"""With these keys many clients want producer ids and brokers often restart, so blocks are requested often."""
OF_MEMBERS = (
    ("member_restart", 0.01), ("member_pause", 0.015), ("member_expire", 0.01), ("member_close", 0.004),
    ("linger", 0.006), ("move_group", 0.004), ("drop", 0.01),
)  # fmt: skip
"""These keys make members join and leave often, so that partitions move while transactions are open."""
OF_WHOM_TO_REMEMBER = frozenset({"assignments_forgotten", "found_by_id", "keyed_by_group"})
REPLACED = (("static", True), ("identities", 1), ("stable_ids", False))
"""These keys make instances replace one another within one generation of the group. Only the transaction coordinator
can distinguish such instances, if it remembers which producer had a partition."""
AS_MANY_AS_BEFORE = (("inputs", 2),)
"""Groups with instances from before KIP-447, which have one producer per partition, get two input partitions. With four
partitions the producers of the draft fence one another again and again without any defect (in 10 of 40 histories)."""
OF_LEADERS = frozenset({"claims_late", "own_id_of_every_leader", "plain_leader_producer"})
LEADING = (("aimed_share", 0.1), ("stall", 0.03), ("expire", 0.01))
"""These fault rates make Connect leaders stall and be replaced."""
LOADING = (("stall", 0.03), ("fail_over", 0.1), ("load_us", 50_000))
"""These keys make coordinators load while fences arrive and while the tasks to be fenced stall."""
EXPIRING = (("expiration_ms", 300), ("expiration_check_ms", 100), ("transaction_timeout_ms", 2_000))
"""With these keys a transactional id expires sooner than a transaction times out."""


@dataclass(frozen=True, slots=True)
class Broken(Defect[Parts]):
    """A `Broken` is one defect of the whole system, whose `needs` are keys of the configurations of the system and of
    the run. ``reported_in`` names the vocabularies in which the defect is looked for. If it is empty, all vocabularies
    are searched."""

    reported_in: tuple[str, ...] = ()


def _is_of_what_is_late(layer: str, defect: Defect[Any]) -> bool:
    return layer == "transactions" and defect.name in OF_WHAT_IS_LATE


def _needs(layer: str, defect: Defect[Any]) -> tuple[dict[str, dict[str, Any]], tuple[tuple[str, Any], ...]]:
    """Return the keys for each layer, and the keys for the whole system."""
    given, name = dict(defect.needs), defect.name
    given |= VARIANTS.get(given.get("mode", ""), {}) if layer == "group-fencing" else {}
    whole: tuple[tuple[str, Any], ...] = ()
    layers: dict[str, dict[str, Any]] = {layer: given}
    if layer == "transactions":
        if "expiration_ms" in given:
            whole += EXPIRING
        layers = {layer: {key: given[key] for key in OF_KAFKA if key in given}}
    whole += {"id-blocks": OF_IDS, "group-fencing": OF_MEMBERS}.get(layer, ())
    if layer == "task-counts" and name in OF_LEADERS:
        whole += LEADING
    if (layer, name) == ("transactions", "fence_takes_any_answer"):
        whole += LOADING
    if layer == "group-fencing" and given.get("old"):
        whole += AS_MANY_AS_BEFORE
    if layer == "group-fencing" and name in OF_WHOM_TO_REMEMBER:
        given.update(REPLACED)
    if "transaction_timeout_ms" in given and layer == "group-fencing":
        whole += (("transaction_timeout_ms", given.pop("transaction_timeout_ms")),)
    mode = given.get("mode", "v2") if layer == "transactions" else given.pop("transactions", "v2")
    if str(given.get("mode", "")).startswith("draft"):  # its fences have no way to wait for a producer id
        whole += (("max_epoch", EPOCH_MAX),)
    if mode != "v2":
        layers.setdefault("transactions", {})["mode"] = mode
        whole += LATE if _is_of_what_is_late(layer, defect) else BEFORE_V2
    return layers, whole


def _all() -> Iterator[Broken]:
    for layer, (part, defects) in LAYERS.items():
        for name, one in defects.items():
            layers, whole = _needs(layer, one)
            parts = Parts(**{part: one.parts}, needs=layers)
            reported_in = (layer,) if _is_of_what_is_late(layer, one) else ()
            yield Broken(f"{layer}:{name}", one.rule, one.breaks, parts, whole, one.why, reported_in=reported_in)


WHOLE = registry(WholeParts, None, __name__)
"""The registry has the defects of the part that joins the layers."""
FOLDERS = {layer: (layer.replace("-", "_"), part) for layer, (part, _) in LAYERS.items()}
FOLDERS |= {"whole": ("end_to_end", "whole")}
"""The mapping gives for each prefix of a defect's name the folder of its defects and the field of the parts."""


def _together() -> Iterator[Broken]:
    for name, one in WHOLE.items():
        yield Broken(f"whole:{name}", one.rule, one.breaks, Parts(whole=one.parts))


REGISTRY = Registry((*_all(), *_together()))
find, __getattr__ = REGISTRY.find, REGISTRY.attribute
