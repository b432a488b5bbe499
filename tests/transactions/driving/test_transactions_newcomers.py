"""Newcomers are many producers one after another, each of which gets its own pair, and a repeated pair is found."""

import pytest
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import make
from fencepost.properties.transactions.interface import Call, newcomers
from fencepost.reference_impl.systems.transactions import reference

CONFIG = {"seed": 0, "mode": "v2", "clients": 2, "partitions": 1, "groups": 0, "max_epoch": 32767}


class Lottery:
    """This cluster answers at once, with the given producer ids and epoch 0."""

    def __init__(self, ids):
        self.ids, self.events, self.instances = iter(ids), [], 0

    def messages(self):
        return []

    def log_append(self):
        return False

    def advance(self, ms):
        raise AssertionError("no client has to wait")

    def restart_client(self, slot):
        self.instances += 1

    def init(self, slot):
        asked = {"client": self.instances, "request": self.instances, "txn_id": 0}
        taken = {"kind": "init_taken", **asked, "producer_id": next(self.ids), "epoch": 0}
        self.events += [{"kind": "init_sent", **asked}, taken]

    def drain_events(self):
        observed, self.events = self.events, []
        return observed


def broken_by(cluster, count):
    """Return the first promise that this many newcomers break, and the call."""
    made, monitor = (
        make(cluster, Call("newcomers", count)),
        driven("transactions").monitoring(CONFIG, frozenset()),
    )
    monitor.only = frozenset({"txn.P7"})  # and not that a new id fences no producer
    monitor.watch(made)
    return monitor.found, made


@pytest.mark.parametrize("max_epoch", [32767, 5])
def test_each_is_given_a_pair_of_its_own(max_epoch):
    """txn.4: Epochs grow, and the producer id changes after the last one."""
    pairs = newcomers(reference({**CONFIG, "max_epoch": max_epoch}), 12).pairs
    assert len(set(pairs)) == 12
    assert len({producer_id for producer_id, _ in pairs}) == (1 if max_epoch > 12 else 3)
    assert max(epoch for _, epoch in pairs) == min(11, max_epoch - 1)


def test_open_transaction_is_waited_for():
    cluster = reference(CONFIG)
    first = newcomers(cluster, 1)
    assert cluster.begin(0) and cluster.send(0, 0)
    while cluster.messages() or cluster.log_append():
        cluster.deliver(cluster.messages()[0][0])
    second = newcomers(cluster, 1)
    assert second.waited_ms > 0
    assert second.pairs > first.pairs


def test_reference_breaks_nothing():
    cluster, monitor = reference(CONFIG), driven("transactions").monitoring(CONFIG, frozenset())
    for call in (Call("newcomers", 5), Call("begin", 0), Call("send", 0, 0)):
        monitor.watch(make(cluster, call), cluster.messages())
        assert monitor.found is None
    assert monitor.context.current[monitor.context.alone].pair == monitor.context.fences[-1]
    assert len(monitor.context.fences) == 5


def test_repeated_pair_is_found():
    """txn.P7: Two newcomers with the same id break the promise, by a check that holds if no two have it."""
    found, made = broken_by(Lottery([4, 1, 7, 1, 9]), 5)
    assert found.rule == "txn.P7"
    assert not eval(found.check, {"result": made.result})
    found, made = broken_by(Lottery([4, 1, 7, 2, 9]), 5)
    assert found is None
    assert made.result.pairs == ((4, 0), (1, 0), (7, 0), (2, 0), (9, 0))


def test_pair_of_somebody_before_them_is_found():
    """txn.P7: A newcomer may also repeat an earlier producer's pair."""
    cluster, monitor = Lottery([4, 1, 7, 4]), driven("transactions").monitoring(CONFIG, frozenset())
    monitor.only = frozenset({"txn.P7"})
    monitor.watch(make(cluster, Call("newcomers", 2)))
    assert monitor.found is None
    monitor.watch(make(cluster, Call("newcomers", 2)))
    assert monitor.found.rule == "txn.P7"


def test_program_names_the_helper():
    made = make(Lottery([4, 1]), Call("newcomers", 2))
    assert made.text == "newcomers(system, 2)"
    assert made.needs == "fencepost.properties.transactions.interface:newcomers"
