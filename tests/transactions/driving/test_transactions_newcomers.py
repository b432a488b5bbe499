"""Newcomers, many producers one after another: each gets a pair of its own, and whoever repeats one is found out."""

import pytest
from fencepost.properties.conformance_spec import driven
from fencepost.properties.driving import make
from fencepost.properties.transactions.interface import Call, newcomers
from fencepost.reference_impl.systems.transactions import reference

CONFIG = {"seed": 0, "mode": "v2", "clients": 2, "partitions": 1, "groups": 0, "max_epoch": 32767}


class Lottery:
    """A cluster that answers at once, with the producer ids given, and epoch 0."""

    def __init__(self, ids):
        self.ids, self.events, self.instances = iter(ids), [], 0

    def messages(self):
        return []

    def log_append(self):
        return False

    def advance(self, ms):
        raise AssertionError("nobody has to wait")

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
    """The first promise that so many newcomers show to be broken."""
    made, monitor = (
        make(cluster, Call("newcomers", count)),
        driven("transactions").monitoring(CONFIG, frozenset()),
    )
    monitor.only = frozenset({"txn.P7"})  # and not that a new id fences nobody
    monitor.watch(made)
    return monitor.found, made


@pytest.mark.parametrize("max_epoch", [32767, 5])
def test_each_is_given_a_pair_of_its_own(max_epoch):
    """Epochs go up, and past the last one the producer id changes (txn.4)."""
    pairs = newcomers(reference({**CONFIG, "max_epoch": max_epoch}), 12).pairs
    assert len(set(pairs)) == 12
    assert len({producer_id for producer_id, _ in pairs}) == (1 if max_epoch > 12 else 3)
    assert max(epoch for _, epoch in pairs) == min(11, max_epoch - 1)


def test_open_transaction_is_waited_for():
    """The first is told to try again until what was open is aborted, and is given the next epoch then."""
    cluster = reference(CONFIG)
    first = newcomers(cluster, 1)
    assert cluster.begin(0) and cluster.send(0, 0)
    while cluster.messages() or cluster.log_append():
        cluster.deliver(cluster.messages()[0][0])
    second = newcomers(cluster, 1)
    assert second.waited_ms > 0
    assert second.pairs > first.pairs


def test_reference_breaks_nothing():
    """All the events reach the monitor, and what comes after them is judged by them."""
    cluster, monitor = reference(CONFIG), driven("transactions").monitoring(CONFIG, frozenset())
    for call in (Call("newcomers", 5), Call("begin", 0), Call("send", 0, 0)):
        monitor.watch(make(cluster, call), cluster.messages())
        assert monitor.found is None
    assert monitor.context.current[monitor.context.alone].pair == monitor.context.fences[-1]
    assert len(monitor.context.fences) == 5


def test_repeated_pair_is_found():
    """Two with the same id break a promise (P7), with a check that holds wherever no two have."""
    found, made = broken_by(Lottery([4, 1, 7, 1, 9]), 5)
    assert found.rule == "txn.P7"
    assert not eval(found.check, {"result": made.result})
    found, made = broken_by(Lottery([4, 1, 7, 2, 9]), 5)
    assert found is None
    assert made.result.pairs == ((4, 0), (1, 0), (7, 0), (2, 0), (9, 0))


def test_pair_of_somebody_before_them_is_found():
    """It may be an earlier producer's pair that comes again."""
    cluster, monitor = Lottery([4, 1, 7, 4]), driven("transactions").monitoring(CONFIG, frozenset())
    monitor.only = frozenset({"txn.P7"})
    monitor.watch(make(cluster, Call("newcomers", 2)))
    assert monitor.found is None
    monitor.watch(make(cluster, Call("newcomers", 2)))
    assert monitor.found.rule == "txn.P7"


def test_program_names_the_helper():
    """The call is written so that it can be pasted."""
    made = make(Lottery([4, 1]), Call("newcomers", 2))
    assert made.text == "newcomers(system, 2)"
    assert made.needs == "fencepost.properties.transactions.interface:newcomers"
