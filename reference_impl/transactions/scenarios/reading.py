"""Known bugs on the way to readers, and of who cleans what they have read: `scenarios.py` says how they are played."""

from dataclasses import replace

from fencepost.reference_impl.transactions.brokers.compaction import CompactedLog, marker_key
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.defects.successors import IndexEndsWithTheMap, MarkersAreRecords
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.messages import COMMIT
from fencepost.reference_impl.transactions.scenarios.script import (
    KNOWN,
    Script,
)
from fencepost.reference_impl.transactions.system import Parts


def with_an_id_of_its_own(env: Environment, slot: int) -> Producer:
    """A producer whose transactional id, and so producer id, is its slot's own."""
    return Producer(env, slot, slot)


@KNOWN.defect("Redpanda-3036", "stable_offset_inclusive")
def bound_that_is_included(script: Script) -> None:
    """Redpanda 3036: the last stable offset is the first one *not* to be read; it was used as the last one to be."""
    script.start(0)
    script.begin(0, 0)
    script.read()
    script.abort(0)
    script.read()


@KNOWN.defect("AutoMQ-754", "aborted_list_cut_short")
def list_that_is_cut_short(script: Script) -> None:
    """AutoMQ 754: the list of aborted transactions in a fetch answer ends too early.

    Of two aborted transactions the reader hears of the first only, and so gets the record of the second.
    """
    script.start(0)
    for _ in range(2):
        script.begin(0, 0)
        script.abort(0)
    script.read()


@KNOWN.shown(
    "librdkafka-3369",
    {"parts": replace(REGISTRY["reader_pops_wrong_entry"].parts, producer=with_an_id_of_its_own), "mode": "v1"},
    {"parts": Parts(producer=with_an_id_of_its_own), "mode": "v1"},
    reference=True,
)
def empty_transaction_takes_an_entry(script: Script) -> None:
    """librdkafka 3369: a marker that aborts nothing takes the entry of another producer out of the reader's list."""
    script.start(0, 1)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.abort(0)
    script.begin(1, 0)
    script.abort(1)
    script.read()


@KNOWN.defect("KAFKA-9346", "pending_offsets_visible")
def offset_before_it_is_decided(script: Script) -> None:
    """KAFKA-9346: the next owner of a partition asks for the group's offset while a commit of another is pending.

    It gets the one before, which the pending commit is about to change, and reads again what was processed.
    """
    offsets = script.config["partitions"]  # the group's partition is the one behind the data
    script.start(0)
    script.begin(0, offsets)
    script.commit(0)
    script.begin(0, offsets)
    script.system.fetch_offset(0, offsets)
    script.commit(0)
    script.system.fetch_offset(0, offsets)


@KNOWN.shown(
    "KAFKA-13727", {"parts": Parts(log=IndexEndsWithTheMap)}, {"parts": Parts(log=CompactedLog)}, reference=True
)
def cleaner_stops_within_a_segment(script: Script) -> None:
    """KAFKA-13727: the cleaner's map of keys is full before the segment is at its end; the rest is copied as it is.

    But the index of aborted transactions is written anew, without those of the rest: readers get their records.
    """
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.begin(0, 0)
    script.abort(0)
    compacted(script).clean(mapped_upto=2)
    script.read()


@KNOWN.shown(
    "KAFKA-14055",
    {"parts": Parts(log=MarkersAreRecords, producer=with_an_id_of_its_own)},
    {"parts": Parts(log=CompactedLog, producer=with_an_id_of_its_own)},
    reference=True,
)
def marker_with_the_key_of_a_record(script: Script) -> None:
    """KAFKA-14055: a record happens to have the key that commit markers have, and the cleaner takes those before it.

    The next leader finds a transaction without an end: nothing behind it is read, and nothing of it.
    """
    script.start(0, 1)
    script.begin(0, 0)
    script.commit(0)
    script.begin(1, 0)
    script.commit(1)
    [_, second] = script.kinds("record_acked")
    compacted(script).keys[second.record] = marker_key(COMMIT)
    compacted(script).clean()
    script.system.change_leader(0)
    script.read()


def compacted(script: Script) -> CompactedLog:
    """The log of partition 0."""
    log = script.system.leaders[0].log
    assert isinstance(log, CompactedLog)
    return log
