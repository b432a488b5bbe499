"""One history in which about everything happens: what it shows, and that nothing is wrong in it."""

from collections import Counter

from fencepost.reference_impl.group_fencing import KIND_NAMES, readable
from fencepost.reference_impl.group_fencing.everything import rows

EVENTS = [readable(row) for row in rows()]
NOT_SHOWN = {"instance_failed", "offset_put", "producer_fenced", "init_refused"}
"""Nobody fails, no offset is committed beside a transaction, and the transaction coordinator knows of no group."""


def test_every_kind_of_event_but_those_of_other_variants():
    """Nothing has been left out by mistake."""
    assert {event.kind for event in EVENTS} == set(KIND_NAMES.values()) - NOT_SHOWN


def test_everything_is_copied_once():
    """And the group's offsets agree at the end."""
    copies = Counter((event.partition, event.offset) for event in EVENTS if event.kind == "output_read")
    assert copies == dict.fromkeys(((partition, offset) for partition in range(2) for offset in range(9)), 1)
    assert {event.partition: event.offset for event in EVENTS if event.kind == "audited"} == {0: 9, 1: 9}


def test_a_zombie_was_refused_and_read_again():
    """One commit of a member that was out of the group, one abort by choice."""
    assert Counter(event.error for event in EVENTS if event.kind == "offset_refused")[25] == 1
    assert Counter(event.outcome for event in EVENTS if event.kind == "end_told")[0] == 2
