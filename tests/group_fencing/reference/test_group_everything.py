"""One history in which about everything happens: what it shows, and that nothing is wrong in it."""

from collections import Counter

from fencepost.properties.group_fencing.scenarios.known import rows
from fencepost.reference_impl.kafka.group_environment import KIND_NAMES, readable

UNKNOWN_MEMBER_ID = 25
EVENTS = [readable(row) for row in rows()]
NOT_SHOWN = {"instance_failed", "offset_put", "producer_fenced", "init_refused", "epoch_given", "partition_given"}
"""No instance fails, no offset is committed beside a transaction, the transaction coordinator knows of no group, and
members have no epochs of their own."""


def test_every_kind_of_event_but_those_of_other_variants():
    """Nothing has been left out by mistake."""
    assert {event.kind for event in EVENTS} == set(KIND_NAMES.values()) - NOT_SHOWN


def test_everything_is_copied_once():
    """And the group's offsets agree at the end."""
    copies = Counter((event.partition, event.offset) for event in EVENTS if event.kind == "output_read")
    assert copies == dict.fromkeys(((partition, offset) for partition in range(2) for offset in range(10)), 1)
    assert {event.partition: event.offset for event in EVENTS if event.kind == "audited"} == {0: 10, 1: 10}


def test_commits_of_former_members_were_refused():
    """Three commits came from members that were out of the group; each transaction was aborted, and one by choice."""
    refused = [event for event in EVENTS if event.kind == "offset_refused" and event.error == UNKNOWN_MEMBER_ID]
    assert [event.member for event in refused] == [1, 2, 3]
    assert Counter(event.outcome for event in EVENTS if event.kind == "end_told")[0] == len(refused) + 1
