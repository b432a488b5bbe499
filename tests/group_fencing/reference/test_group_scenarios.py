"""Scripts on the reference cover one history with almost every kind of event, and static members. No driven run has two
instances of one identity, or asks why one is refused."""

from collections import Counter

import pytest
from fencepost.properties.group_fencing.scenarios.known import Script, rows
from fencepost.reference_impl.kafka.group_environment import KIND_NAMES, readable

UNKNOWN_MEMBER_ID = 25
EVENTS = [readable(row) for row in rows()]
NOT_EMITTED = {"instance_failed", "offset_put", "producer_fenced", "init_refused", "epoch_given", "partition_given"}
"""In this history no instance fails, no offset is committed outside a transaction, the transaction coordinator knows no
group, and members have no epochs of their own."""


def test_every_kind_of_event_but_those_of_other_variants():
    assert {event.kind for event in EVENTS} == set(KIND_NAMES.values()) - NOT_EMITTED


def test_everything_is_copied_once():
    copies = Counter((event.partition, event.offset) for event in EVENTS if event.kind == "output_read")
    assert copies == dict.fromkeys(((partition, offset) for partition in range(2) for offset in range(10)), 1)
    assert {event.partition: event.offset for event in EVENTS if event.kind == "audited"} == {0: 10, 1: 10}


def test_commits_of_former_members_were_refused():
    """Three commits came from removed members, whose transactions were aborted, and one more was aborted by choice."""
    refused = [event for event in EVENTS if event.kind == "offset_refused" and event.error == UNKNOWN_MEMBER_ID]
    assert [event.member for event in refused] == [1, 2, 3]
    assert Counter(event.outcome for event in EVENTS if event.kind == "end_told")[0] == len(refused) + 1


@pytest.mark.parametrize(("mode", "twice"), [("draft", True), ("draft-repaired", False), ("shipped", False)])
def test_same_generation_by_another_producer(mode, twice):
    """H2: A static member is replaced while it is paused, without a new generation, by one with another producer id.
    The draft's reverse map refuses smaller generations only, so the zombie commits after its successor. As shipped it
    is refused by its instance id."""
    script = Script.of_reference(mode=mode, static=True, identities=1, stable_ids=False)
    script.until(0, "consumed")
    script.system.pause(0)
    script.until(1, "end_told")
    script.system.resume(0)
    script.go_on(0)
    script.audit()
    copies = Counter((event.partition, event.offset) for event in script.kinds("output_read"))
    assert copies and (max(copies.values()) > 1) == twice


@pytest.mark.parametrize("static", [True, False])
def test_answer_to_a_static_join_is_lost(static):
    """A static member of the new protocol that repeats its first heartbeat is refused its own instance id, and fails
    (GroupMetadataManager.throwIfInstanceIdIsUnreleased)."""
    script = Script.of_reference(mode="new-protocol", listener=False, static=static)
    script.system.step(0)
    script.deliver()
    while not script.flying("group_heartbeat_answer", "consumer-0"):
        script.system.step(0)
        number = next((m[0] for m in script.system.messages()), None)
        if number is None:
            script.system.log_append()
        else:
            script.system.deliver(number)
    script.lose("group_heartbeat_answer", "consumer-0")
    script.go_on(0, ms=35_000)
    script.audit()
    assert (bool(script.kinds("instance_failed")), bool(script.kinds("output_read"))) == (static, not static)
