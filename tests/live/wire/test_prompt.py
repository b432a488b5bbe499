"""The prompt reference: what a broker does by itself is done when a call returns, and nothing else is different."""

import doctest
import sys
from random import Random

import pytest
from fencepost.proofs.testing import agree
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import Run
from fencepost.properties.transactions.interface import BLACK_BOX, Call, missing
from fencepost.properties.transactions.scenarios.agreement import OVER_THE_WIRE
from fencepost.reference_impl.kafka.errors import ErrorCode
from fencepost.reference_impl.kafka.log import Appended, PartitionLog
from fencepost.reference_impl.systems.transactions import Parts, build
from prompt import BLACK_BOX as SEEN
from prompt import prompt as factory

MODES = ("v1", "v1-verified", "v2")
SMALL = {"seed": 0, "clients": 2, "partitions": 1, "groups": 1}


def opened(mode="v2", **config):
    """A cluster whose client 0 has a transaction with one record in it, acknowledged."""
    system = factory({**SMALL, "mode": mode, **config})
    system.init(0)
    pump(system)
    assert system.begin(0) and system.send(0, 0)
    pump(system)
    system.drain_events()
    return system


def pump(system):
    """Deliver everything, oldest first."""
    while messages := system.messages():
        system.deliver(messages[0][0])


def reported(system, kind):
    """The errors in the events of one kind."""
    return [event.error for event in system.drain_events() if event.kind == kind]


def test_the_example_in_the_documentation_runs():
    """The example at the top of the file is what it does."""
    results = doctest.testmod(sys.modules[factory.__module__])
    assert (results.failed, results.attempted) == (0, 4)


@pytest.mark.parametrize("mode", MODES)
def test_only_clients_and_brokers_are_seen(mode):
    """Whatever a driver does, in flight is only what goes between clients and brokers, and only black-box events show;
    after each call the transaction log has nothing unfinished."""
    dice, system, kinds = Random(7), factory({**SMALL, "mode": mode}), set()
    assert missing(system, mode) == []
    for _ in range(400):
        messages = system.messages()
        assert all(m[2].startswith(("client", "admin")) or m[3].startswith(("client", "admin")) for m in messages)
        assert not system.system.transaction_log.unfinished and not system.log_append()
        calls = [lambda: system.init(0), lambda: system.begin(0), lambda: system.send(0, dice.randrange(2)),
                 lambda: system.commit(0), lambda: system.abort(0), lambda: system.advance(100),
                 lambda: system.read(0, 0)]  # fmt: skip
        if dice.random() < 0.02:
            system.restart_client(0)
        elif messages and dice.random() < 0.6:
            system.deliver(dice.choice(messages)[0], keep=dice.random() < 0.2)
        else:
            dice.choice(calls)()
        kinds |= {event.kind for event in system.drain_events()}
    assert SEEN == BLACK_BOX
    assert kinds <= BLACK_BOX and {"record_acked", "end_told"} <= kinds


@pytest.mark.parametrize("mode", MODES)
def test_a_fence_is_told_to_try_again_or_waits_for_it(mode):
    """txn.3: who asks for an epoch while a transaction is open is told to ask again (51); with `collapse` the broker
    does that itself, and the first answer is the epoch."""
    for collapse, first in ((False, 51), (True, 0)):
        system = opened(mode, collapse=collapse)
        system.init(1)
        system.deliver(system.messages()[0][0])
        system.deliver(system.messages()[0][0])
        assert reported(system, "init_taken") == [first]


@pytest.mark.parametrize("mode", MODES)
def test_a_commit_is_visible_when_its_answer_is_there(mode):
    """txn.10: the markers are written before a call returns: what is committed can be read although the answer has not
    even arrived."""
    system = opened(mode)
    assert system.read(0, 0) == []
    system.commit(0)
    system.deliver(system.messages()[0][0])
    assert system.messages()[0][1] == "end_answer"
    assert len(system.read(0, 0)) == 1


def test_transactions_grow_old_only_on_request():
    """txn.18: a transaction times out with `timeouts`, and else never; nor is an idle id forgotten."""
    for timeouts, expected in ((True, [90]), (False, [0])):
        system = opened(timeouts=timeouts)
        system.advance(30 * 24 * 3600 * 1000)
        system.commit(0)
        pump(system)
        assert reported(system, "end_told") == expected


def test_what_only_moves_brokers_does_nothing():
    """Fail-over and another leader are not the driver's to say: the commit of an open transaction goes on as it was."""
    system = opened()
    system.fail_over(False)
    system.change_leader(0)
    system.commit(0)
    pump(system)
    assert reported(system, "end_told") == [0]


def test_one_broker_restarts_on_request():
    """txn.19: with `restarts` a transaction outlives the broker, and what leaders had in memory only does not: a copy
    of a record that is not the last one is out of order then, and answered as before without."""
    for restarts, error in ((True, 45), (False, 0)):
        system = factory({**SMALL, "mode": "v2", "leader_change": "restart"}, restarts=restarts)
        system.init(0)
        pump(system)
        assert system.begin(0) and system.send(0, 0)
        (copy,) = (message[0] for message in system.messages())
        system.deliver(copy, keep=True)
        system.send(0, 0)
        system.deliver(system.messages()[-1][0])
        system.fail_over()
        system.deliver(copy)
        answer = system.messages()[-1][0]
        assert system.env.network.in_flight[answer].body.data.error_code == error
        pump(system)
        system.commit(0)
        pump(system)
        assert len(system.read(0, 0)) == 2


class NoMarkers(PartitionLog):
    """A partition whose disk fails whenever a marker comes."""

    def append_marker(self, request):
        return Appended(ErrorCode.KAFKA_STORAGE_ERROR)


def test_a_marker_refused_for_ever_does_not_hang():
    """txn.10: brokers that try for ever are left to themselves, between two tries or after many steps; clients see none
    of it, and the transaction stays open."""
    system = factory({**SMALL, "mode": "v2"}, lambda config: build(config, Parts(log=NoMarkers)))
    system.init(0)
    pump(system)
    assert system.begin(0) and system.send(0, 0)
    pump(system)
    system.commit(0)
    pump(system)
    assert system.messages() == []
    system.advance(10_000)
    pump(system)
    assert system.read(0, 0) == []


@pytest.mark.parametrize("mode", MODES)
def test_the_promises_hold(mode):
    """txn.P1 to txn.P9: what holds of the reference holds of it made prompt, or is predicted for the mode."""
    report = agree(
        "prompt:prompt", protocol="transactions", variant=mode, promises_only=True,
        observed=frozenset(), max_examples=40, config={"max_epoch": 32767, "timeouts": True},
    )  # fmt: skip
    assert report.verdict == "holds", report.failure


@pytest.mark.parametrize("mode", MODES)
def test_an_offset_is_stable_once_its_transaction_has_timed_out(mode):
    """txn.21: where only clients are seen, an offset that was pending before the cluster settled breaks nothing
    afterwards: its transaction has timed out meanwhile."""
    config = {**SMALL, "mode": mode, "timeouts": True}
    monitor = driven("transactions").monitoring(config, frozenset())
    run = Run(factory, config, monitor)
    for call in (Call("init", 0), Call("begin", 0), Call("send", 0, 1)):
        while messages := run.system.messages():
            run.call(Call.about("deliver", messages[0], messages))
        run.call(call)
    settled = run.call(Call("settle", 100, 1, 1))
    assert settled.result.offsets == ((0, -1),)
    assert monitor.found is None


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("release", ["4.0", "4.3"])
def test_it_is_followed_as_a_broker_is(mode, release):
    """The model of brokers that act by themselves allows what it does, in either release."""
    report = agree(
        "prompt:prompt", protocol=OVER_THE_WIRE, variant=mode, max_examples=8, steps=15,
        config={"release": release, "collapse": True},
    )  # fmt: skip
    assert report.verdict == "holds", report.failure
