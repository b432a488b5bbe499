"""Known bugs on the way to readers, and of who cleans what they have read: `scenarios.py` says how they are played."""

from collections.abc import Callable
from dataclasses import replace

from fencepost.reference_impl.transactions.brokers.compaction import CompactedLog, marker_key
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.defects.broken import REGISTRY
from fencepost.reference_impl.transactions.defects.outages import IndexEndsWithTheMap, MarkersAreRecords
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.events import Event
from fencepost.reference_impl.transactions.messages import COMMIT
from fencepost.reference_impl.transactions.scenarios.playing import played
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.system import Parts


def bound_that_is_included(broken: bool) -> list[Event]:
    """Redpanda 3036: the last stable offset is the first one *not* to be read; it was used as the last one to be."""
    script = played("stable_offset_inclusive", broken)
    script.start(0)
    script.begin(0, 0)
    script.read()
    script.abort(0)
    script.read()
    return script.told()


def list_that_is_cut_short(broken: bool) -> list[Event]:
    """AutoMQ 754: the list of aborted transactions in a fetch answer ends too early.

    Of two aborted transactions the reader is told of the first only, and so gets the record of the second.
    """
    script = played("aborted_list_cut_short", broken)
    script.start(0)
    for _ in range(2):
        script.begin(0, 0)
        script.abort(0)
    script.read()
    return script.told()


def empty_transaction_takes_an_entry(broken: bool) -> list[Event]:
    """librdkafka 3369: a marker that aborts nothing takes the entry of another producer out of the reader's list."""
    parts = REGISTRY["reader_pops_wrong_entry"].parts if broken else Parts()
    script = Script(replace(parts, producer=with_an_id_of_its_own), mode="v1")
    script.start(0, 1)
    script.system.begin(0)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.abort(0)
    script.begin(1, 0)
    script.abort(1)
    script.read()
    return script.told()


def with_an_id_of_its_own(env: Environment, slot: int) -> Producer:
    """A producer whose transactional id, and so producer id, is its slot's own."""
    return Producer(env, slot, slot)


def offset_before_it_is_decided(broken: bool) -> list[Event]:
    """KAFKA-9346: the next owner of a partition asks for the group's offset while a commit of another is pending.

    It is told the one before, which the pending commit is about to change, and reads again what was processed.
    """
    script = played("pending_offsets_visible", broken)
    offsets = script.system.env.config.partitions  # the group's partition is the one behind the data
    script.start(0)
    script.begin(0, offsets)
    script.commit(0)
    script.begin(0, offsets)
    script.system.fetch_offset(0, offsets)
    script.commit(0)
    script.system.fetch_offset(0, offsets)
    return script.told()


def cleaner_stops_within_a_segment(broken: bool) -> list[Event]:
    """KAFKA-13727: the cleaner's map of keys is full before the segment is at its end; the rest is copied as it is.

    But the index of aborted transactions is written anew, without those of the rest: readers get their records.
    """
    script = Script(Parts(log=IndexEndsWithTheMap if broken else CompactedLog))
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    script.begin(0, 0)
    script.abort(0)
    compacted(script).clean(mapped_upto=2)
    script.read()
    return script.told()


def marker_with_the_key_of_a_record(broken: bool) -> list[Event]:
    """KAFKA-14055: a record happens to have the key that commit markers have, and the cleaner takes those before it.

    The next leader finds a transaction without an end: nothing behind it is read, and nothing of it.
    """
    log = MarkersAreRecords if broken else CompactedLog
    script = Script(Parts(log=log, producer=with_an_id_of_its_own))
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
    return script.told()


def compacted(script: Script) -> CompactedLog:
    """The log of partition 0."""
    log = script.system.leaders[0].log
    assert isinstance(log, CompactedLog)
    return log


READING: dict[str, Callable[[bool], list[Event]]] = {
    "Redpanda-3036": bound_that_is_included,
    "AutoMQ-754": list_that_is_cut_short,
    "librdkafka-3369": empty_transaction_takes_an_entry,
    "KAFKA-9346": offset_before_it_is_decided,
    "KAFKA-13727": cleaner_stops_within_a_segment,
    "KAFKA-14055": marker_with_the_key_of_a_record,
}
