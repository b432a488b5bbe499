"""A driver of the reference sees messages, events and errors, and the same program gives the same events."""

import pytest
from fencepost.reference_impl.defects.id_blocks import REGISTRY
from fencepost.reference_impl.kafka.producer_ids.environment import COLUMNS, Event
from fencepost.reference_impl.systems.id_blocks import reference
from hypothesis import given, settings
from hypothesis import strategies as st

BROKERS = 3
CONFIG = {"seed": 3, "brokers": BROKERS, "controllers": 3, "block_size": 4, "max_id": 400, "prefetch": 0.9}
MESSAGE_OPERATIONS = ("deliver", "duplicate", "drop")
BROKER_OPERATIONS = ("init_producer_id", "restart_broker", "upgrade_broker", "zk_step")
PLAIN_OPERATIONS = ("fail_over", "commit", "snapshot", "migrate")


def test_messages_name_number_kind_broker_and_request(cluster):
    """A driver sees (number, request or response, broker, correlation number) of everything in flight."""
    system = cluster()
    system.init_producer_id(1)
    system.init_producer_id(0)
    assert system.messages() == [(0, "request", 1, 0), (1, "request", 0, 1)]
    system.deliver(1, keep=True)
    system.commit()
    assert system.messages() == [(0, "request", 1, 0), (1, "request", 0, 1), (2, "response", 0, 1)]
    system.drop(0)
    assert [message[0] for message in system.messages()] == [1, 2]


def test_events_are_drained_once(cluster, kinds):
    system = cluster()
    events = system.drain_events()
    assert kinds(events) == ["broker_started", "broker_started"]
    assert system.drain_events() == []
    assert Event._fields == COLUMNS
    assert all(isinstance(value, int) for event in events for value in event if value != event.kind)


def test_message_that_is_not_in_flight_is_an_error(cluster):
    system = cluster()
    for act in (system.deliver, system.drop):
        with pytest.raises(KeyError, match=r"no message 5 in flight.*in flight are \[\]"):
            act(5)


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"brokerz": 3}, "unknown keys .'brokerz'"), ({"mode": "raft"}, "mode='raft'"), ({"brokers": 0}, "at least 1"),
        ({"prefetch": 1.0}, "prefetch=1.0"), ({"max_id": 2**63}, "int64"), ({"authorization_error": "no"}, "retried"),
        ({"inter_broker_protocol": "newest"}, "expected a version"), ({"controller_discovery": ""}, "at_sending"),
        ({"inter_broker_protocol": "0.7"}, "no such Kafka version"),
    ],
)  # fmt: skip
def test_bad_config_is_refused_with_the_reason(config, complaint):
    with pytest.raises(ValueError, match=complaint):
        reference(config)


def test_time_does_not_go_back(cluster):
    with pytest.raises(ValueError, match="only moves forward"):
        cluster().advance(-1)


def run(system, program):
    """Run a program of (operation, argument) pairs and return its events."""
    for operation, argument in program:
        flying = system.messages()
        if operation in MESSAGE_OPERATIONS:
            if flying:
                number = flying[argument % len(flying)][0]
                system.drop(number) if operation == "drop" else system.deliver(number, keep=operation == "duplicate")
        elif operation in BROKER_OPERATIONS:
            getattr(system, operation)(argument % BROKERS)
        elif operation == "advance":
            system.advance(argument * 100)
        else:
            system.zk_step(-1)
            getattr(system, operation)()
    return system.drain_events()


PROGRAMS = st.lists(
    st.tuples(
        st.sampled_from((*MESSAGE_OPERATIONS, *BROKER_OPERATIONS, *PLAIN_OPERATIONS, "advance", "init_producer_id")),
        st.integers(0, 11),
    ),
    max_size=80,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(program=PROGRAMS, mode=st.sampled_from(["kraft", "zookeeper", "bridge"]))
def test_no_program_gets_an_id_twice(program, mode):
    """730.P1, 730.P2: Whatever a driver does, ids are distinct, blocks are disjoint and the events are repeatable."""
    events = run(reference({**CONFIG, "mode": mode}), program)
    assert events == run(reference({**CONFIG, "mode": mode}), program)
    ids = [event.producer_id for event in events if event.kind == "id_handed_out"]
    assert len(ids) == len(set(ids))
    taken = [event.first for event in events if event.kind in ("block_committed", "zk_written")]
    assert len(taken) == len(set(taken))
    assert [event.step for event in events] == list(range(len(events)))


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_every_broken_implementation_has_the_same_plug(name):
    from fencepost.reference_impl.defects import id_blocks

    system = getattr(id_blocks, name)(CONFIG)
    program = [("init_producer_id", 0), ("deliver", 0), ("commit", 0), ("deliver", 0), ("init_producer_id", 0)]
    assert run(system, program)[0].kind == "broker_started"
