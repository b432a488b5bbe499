"""A driver may make any calls in any order, and the same program gives the same events."""

from random import Random

import pytest
from fencepost.reference_impl.kafka.environment import COLUMNS, KIND_NAMES
from fencepost.reference_impl.kafka.transaction_states import IDLE, loaded, value_of
from fencepost.reference_impl.systems.transactions import reference

MODES = ("v1", "v1-verified", "v2")
PARTITIONS = 3  # two of records, one of offsets


def test_events_are_drained_once():
    """txn.8: Draining returns the events since the last call, with the kind by name and integer columns."""
    system = reference({})
    assert [event.kind for event in system.drain_events()] == ["client_started"] * 2
    assert system.drain_events() == []
    system.init(1)
    (event,) = system.drain_events()
    assert (event.kind, event.step, event.client) == ("init_sent", 2, 1)
    assert all(type(value) is int for name, value in event._asdict().items() if name != "kind")


def test_calls_that_the_state_does_not_allow_do_nothing():
    """txn.8: Before initTransactions no transaction can begin, send, commit or abort."""
    system = reference({})
    system.drain_events()
    assert not any((system.begin(0), system.send(0, 0), system.commit(0), system.abort(0)))
    assert (system.drain_events(), system.messages()) == ([], [])


def test_restarted_client_is_a_new_one_and_its_messages_stay():
    """txn.1: A crash gives the slot to an instance with another number, and the old one's requests stay in flight."""
    system = reference({"clients": 1})
    system.init(0)
    system.restart_client(0)
    events = system.drain_events()
    assert [(event.kind, event.client) for event in events if "client" in event.kind] == [
        ("client_started", 0), ("client_stopped", 0), ("client_started", 1),
    ]  # fmt: skip
    assert len(system.messages()) == 1


SEEDS = range(40)
USUAL = ["run"] * 12 + ["deliver"] * 4 + ["work"] * 12 + ["advance"] * 2 + ["read"]
FAULTS = ["duplicate", "drop", "fail", "fail_over", "leader", "restart", "fence", "late"]


def program(seed):
    """Return three hundred steps, one in eight of them a fault, each with a number to choose by."""
    random = Random(seed)
    return [(random.choice(FAULTS if random.random() < 0.125 else USUAL), random.randrange(12)) for _ in range(300)]


def work(system, number):
    """Take the application's next step: mostly a send, else the end or begin of a transaction."""
    slot = number % 2
    if number < 8 and system.send(slot, number % PARTITIONS):
        return
    ends = (system.commit, system.abort) if number % 3 else (system.abort, system.commit)
    any(call(slot) for call in (system.init, system.begin, *ends))


def run(system, rounds):
    """Deliver messages in order, and let appends succeed."""
    for _ in range(rounds):
        flying = system.messages()
        if flying:
            system.deliver(flying[0][0])
        elif not system.log_append():
            return


def perform(system, what, number):
    """Take one step of a program, which does nothing if it does not apply."""
    flying = [message[0] for message in system.messages()]
    if what in ("deliver", "duplicate", "drop") and number < len(flying):
        system.drop(flying[number]) if what == "drop" else system.deliver(flying[number], keep=what == "duplicate")
    elif what == "fail":
        system.log_append(ok=False)
    elif what == "work":
        work(system, number)
    elif what == "run":
        run(system, 1 + number)
    elif what == "fail_over":
        system.fail_over(number % 2 == 0)
    elif what == "leader":
        system.change_leader(number % PARTITIONS)
    elif what == "restart":
        system.restart_client(number % 2)
    elif what == "fence":
        system.fence()
    elif what == "read":
        system.read(0, number % 2, committed=number < 8)
        system.fetch_offset(0, 2)
    elif what in ("advance", "late"):
        system.advance((31_000, 80_000)[number % 2] if what == "late" else 110)


def history(mode, seed):
    system = reference({"mode": mode, "groups": 1, "max_epoch": 3})
    for what, number in program(seed):
        perform(system, what, number)
    return system, system.drain_events()


@pytest.mark.parametrize("mode", MODES)
def test_any_program_runs_and_runs_the_same_again(mode):
    """txn.P9: No order of steps reaches an illegal state, and the same program gives the same events. At the end each
    live id without a pending change equals its log."""
    reached = set()
    for seed in SEEDS:
        system, events = history(mode, seed)
        assert events == history(mode, seed)[1]
        assert [event.step for event in events] == list(range(len(events)))
        assert {len(row) for row in system.env.log.rows} == {len(COLUMNS)}
        reached |= {event.kind for event in events}
        recorded = system.transaction_log.replay()
        for metadata in system.coordinator.transactions.values():
            if metadata.pending_state is None and metadata.now.producer_epoch >= 0:
                live = loaded(value_of(metadata.now))
                rested = loaded(recorded[metadata.transactional_id])
                assert live == rested or metadata.has_failed_epoch_fence
    absent = {"id_expired", "marker_refused"} | ({"add_sent", "add_taken", "add_handled"} if mode == "v2" else set())
    absent |= {"check_asked", "partition_checked"} if mode == "v1" else set()
    assert set(KIND_NAMES.values()) - reached <= absent


@pytest.mark.parametrize("mode", ["v1-verified", "v2"])
def test_everything_is_resolved_in_the_end(mode):
    """txn.P10: Without further failures every transaction ends, and every last stable offset reaches the end."""
    for seed in SEEDS:
        system, _ = history(mode, seed)
        for _ in range(50):
            while system.messages() or system.log_append():
                run(system, 1000)
            system.advance(5_000)
        for leader in system.leaders:
            assert leader.log.last_stable_offset() == len(leader.log.batches)
        for metadata in system.coordinator.transactions.values():
            assert metadata.now.state in IDLE
            assert metadata.pending_state is None
