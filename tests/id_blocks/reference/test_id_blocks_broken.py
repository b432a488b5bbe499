"""Broken implementations break exactly what the registry says, and the correct one breaks nothing."""

from collections.abc import Callable

import pytest
from fencepost.reference_impl.id_blocks import Kind, reference, simulate
from fencepost.reference_impl.id_blocks.defects import broken
from fencepost.reference_impl.id_blocks.defects.broken import DRIVEN, REGISTRY
from fencepost.reference_impl.id_blocks.scenarios import SCENARIOS, fetch_block, scenario, settle
from fencepost.reference_impl.simulation.defects import Breaks

STEP, TIME, KIND, NODE, BROKER, EPOCH, REQUEST, GRANT, FIRST, LENGTH, ID, ERROR = range(12)
# Rough weather: faults frequent enough, and late copies early enough, that each defect shows within some seeds.
WEATHER = {
    "events": 300, "duplicate": 0.3, "drop": 0.05, "restart": 0.05, "fail_over": 0.05, "snapshot": 0.05,
    "delay_us": 60_000, "down_us": 5_000,
}  # fmt: skip
SEEDS = range(120)
ROUGHER = {"numbers_begin_again": {"restart": 0.3, "duplicate": 0.5}}
"""What a defect needs so that it shows within as many seeds."""


def named(breaks):
    """The names of all that break this."""
    return sorted(name for name, entry in REGISTRY.items() if entry.breaks is breaks)


def histories(name):
    """Histories of one implementation, correct for the empty name."""
    needs = dict(REGISTRY[name].needs) if name else {}
    weather = {**WEATHER, **ROUGHER.get(name, {})}
    return (simulate(seed, {**weather, **needs, "broken": name}) for seed in SEEDS)


def repeats_an_id(rows):
    """Whether some id is handed out twice."""
    ids = [row[ID] for row in rows if row[KIND] == Kind.ID_HANDED_OUT]
    return len(ids) != len(set(ids))


@pytest.mark.parametrize("name", sorted({*named(Breaks.PROMISE)} - DRIVEN))
def test_broken_promise_is_seen(name):
    """730.P1: some history of each of these hands out an id twice."""
    assert any(repeats_an_id(rows) for rows in histories(name))


@pytest.mark.parametrize("name", ["", *named(Breaks.CONFORMANCE), *named(Breaks.PROGRESS), *named(Breaks.NOTHING)])
def test_promise_holds(name):
    """730.P1: no history of the correct implementation, or of one that breaks less, hands out an id twice."""
    assert not any(repeats_an_id(rows) for rows in histories(name))


@pytest.mark.parametrize("needs", [(("mode", "bridge"),), (("mode", "zookeeper"),), (("max_id", 100),)])
def test_promise_holds_in_every_mode(needs):
    """730.P1: the correct implementation passes under the configs that broken ones need to show."""
    assert not any(repeats_an_id(simulate(seed, {**WEATHER, **dict(needs)})) for seed in SEEDS)


def id_outside_its_block(rows):
    """An id is handed out that does not lie in the broker's current block."""
    block: dict[int, tuple[int, int]] = {}
    for row in rows:
        if row[KIND] == Kind.BLOCK_INSTALLED:
            block[row[BROKER]] = (row[FIRST], row[FIRST] + row[LENGTH])
        elif row[KIND] == Kind.ID_HANDED_OUT:
            first, end = block[row[BROKER]]
            if not first <= row[ID] < end:
                return True
    return False


def one_request_judged_twice(rows):
    """The broker takes or refuses the answers to one request more than once."""
    judged = [row[REQUEST] for row in rows if row[KIND] in (Kind.ANSWER_TAKEN, Kind.ANSWER_REFUSED)]
    return len(judged) != len(set(judged))


def two_requests_outstanding(rows):
    """A broker asks again before its last request came to any end."""
    outstanding = set()
    ends = (Kind.ANSWER_TAKEN, Kind.ANSWER_REFUSED, Kind.ANSWER_FAILED, Kind.REQUEST_TIMED_OUT, Kind.BROKER_STOPPED)
    for row in rows:
        if row[KIND] in ends:
            outstanding.discard(row[BROKER])
        elif row[KIND] == Kind.REQUEST_SENT:
            if row[BROKER] in outstanding:
                return True
            outstanding.add(row[BROKER])
    return False


def asks_during_back_off(rows):
    """A broker asks again within 50 ms of an error answer, in the same life."""
    failed: dict[int, int] = {}
    for row in rows:
        if row[KIND] == Kind.ANSWER_FAILED:
            failed[row[BROKER]] = row[TIME]
        elif row[KIND] == Kind.BROKER_STOPPED:
            failed.pop(row[BROKER], None)
        elif row[KIND] == Kind.REQUEST_SENT and row[TIME] - failed.get(row[BROKER], -50_000) < 50_000:
            return True
    return False


def one_record_answered_twice(rows):
    """Two answers stand on one record."""
    grants = [row[GRANT] for row in rows if row[KIND] == Kind.ANSWER_SENT and row[ERROR] == 0]
    return len(grants) != len(set(grants))


def block_for_a_stale_epoch(rows):
    """A block is recorded for a broker epoch that is not the registered one."""
    epoch: dict[int, int] = {}
    for row in rows:
        if row[KIND] == Kind.BROKER_STARTED:
            epoch[row[BROKER]] = row[EPOCH]
        elif row[KIND] == Kind.BLOCK_RECORDED and row[EPOCH] != epoch[row[BROKER]]:
            return True
    return False


def refusal_unknown_to_kraft(rows):
    """A KRaft controller refuses with a code it does not use."""
    return any(row[KIND] == Kind.REQUEST_REFUSED and row[ERROR] not in (-1, 31, 41, 77) for row in rows)


SYMPTOMS: dict[str, Callable[..., bool]] = {
    "ids_shifted_everywhere": id_outside_its_block,
    "duplicate_answer_taken": one_request_judged_twice,
    "double_prefetch": two_requests_outstanding,
    "backoff_ignored": asks_during_back_off,
    "idempotent_per_request": one_record_answered_twice,
    "stale_epoch_accepted": block_for_a_stale_epoch,
    "wrong_error_for_stale_epoch": refusal_unknown_to_kraft,
}


def test_every_conformance_break_has_its_symptom():
    """The table of symptoms covers the registry."""
    assert sorted(SYMPTOMS) == named(Breaks.CONFORMANCE)


@pytest.mark.parametrize("name", sorted(SYMPTOMS))
def test_conformance_break_is_seen(name):
    """Each of these shows events that the correct implementation never shows."""
    assert any(SYMPTOMS[name](rows) for rows in histories(name))
    assert not any(SYMPTOMS[name](rows) for rows in histories(""))


def served_after_trouble(factory):
    """Which of 40 demands get an id, after one lost request and one error, with no further fault."""
    system = factory({"brokers": 1, "controllers": 1, "block_size": 10, "max_id": 1000})
    system.set_cluster_action(0, allowed=False)
    system.init_producer_id(0)
    settle(system)
    system.set_cluster_action(0, allowed=True)
    system.advance(60)
    system.init_producer_id(0)
    if system.messages():
        system.drop(system.messages()[0][0])
    served = []
    for _ in range(40):
        system.advance(1000)
        served.append(system.init_producer_id(0)[0] == 0)
        settle(system)
    return served


@pytest.mark.parametrize("name", named(Breaks.PROGRESS))
def test_progress_break_is_seen(name):
    """730.P3: from some demand on nobody is served any more, while the correct implementation serves all but one."""
    assert not any(served_after_trouble(REGISTRY[name])[-20:])
    assert sum(served_after_trouble(reference)) == 39


@pytest.mark.parametrize("name", named(Breaks.NOTHING))
def test_control_changes_nothing(name):
    """A control's histories are those of the correct implementation, row by row."""
    assert list(histories(name)) == list(histories(""))


def test_uncoordinated_ranges_overlap_what_zookeeper_gave_out():
    """730.17: ids cut up by broker id begin inside the blocks of the cluster's ZooKeeper past."""
    system = REGISTRY["uncoordinated"]({"mode": "bridge", "brokers": 2, "block_size": 10, "max_id": 1000})
    system.zk_step(1)
    system.zk_step(1)
    system.upgrade_broker(0)
    assert system.init_producer_id(0) == system.init_producer_id(1) == (0, 0)


def ids_of(events):
    """The ids that were handed out."""
    return [event.producer_id for event in events if event.kind == "id_handed_out"]


@pytest.mark.parametrize("name", sorted(set(SCENARIOS) - {"KAFKA-20114"}))
def test_scenario_repeats_an_id_only_when_broken(name):
    """Each known bug hands out an id twice, and its fix does not."""
    with_defect, without = ids_of(scenario(name, True)), ids_of(scenario(name, False))
    assert len(with_defect) > len(set(with_defect))
    assert without and len(without) == len(set(without))


def test_own_length_hands_out_ids_beyond_its_block():
    """730.8: a block of 3 ids comes to a broker that counts on 10, and its neighbour's next block begins in it."""

    def handed_out(factory):
        system = factory({"brokers": 2, "controllers": 1, "block_size": 10, "max_id": 1000, "prefetch": 0.0})
        system.set_block_size(3)
        fetch_block(system, 0)
        fetch_block(system, 1)
        return [system.init_producer_id(broker)[1] for broker in (0, 1) for _ in range(4)]

    assert handed_out(REGISTRY["own_length"]) == [0, 1, 2, 3, 3, 4, 5, 6]
    assert handed_out(reference) == [0, 1, 2, -1, 3, 4, 5, -1]


def test_double_prefetch_only_loses_ids():
    """KAFKA-20114: a whole block is lost, but no id comes twice."""
    assert (ids_of(scenario("KAFKA-20114", True)), ids_of(scenario("KAFKA-20114", False))) == ([10], [0])


def test_unknown_names_are_refused_with_the_known_ones():
    """A misspelt name is answered with the names that exist."""
    with pytest.raises(KeyError, match="KAFKA-15552"):
        scenario("KAFKA-1", True)
    with pytest.raises(KeyError, match="zk_no_reread"):
        broken.find("nonsense")
    with pytest.raises(AttributeError, match="zk_no_reread"):
        broken.nonsense  # noqa: B018
