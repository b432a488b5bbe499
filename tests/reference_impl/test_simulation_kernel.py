"""The simulation under the reference implementations: order, timers, crashes, pauses, and the lossy network."""

import pytest
from fencepost.reference_impl.simulation import FaultMix, Kernel, LossyNetwork, Network, Node


class Listener(Node):
    """A node that remembers what it received."""

    def __init__(self, kernel):
        super().__init__("listener", kernel)
        self.heard = []

    def receive(self, message):
        self.heard.append(message.body)

    def forget(self):
        self.heard.append("crash")


@pytest.fixture
def kernel():
    """A kernel at time 0."""
    return Kernel(seed=1)


def test_entries_run_in_order_of_time_then_of_queueing(kernel):
    """What is due at one time runs in the order it was queued."""
    seen = []
    for time_us, name in ((20, "c"), (10, "a"), (10, "b"), (30, "late")):
        kernel.at(time_us, seen.append, name)
    kernel.advance(20)
    assert (seen, kernel.now) == (["a", "b", "c"], 20)


def test_what_is_queued_meanwhile_runs_in_the_same_advance(kernel):
    """A handler may queue more; whatever falls due before the end runs, at its own time."""
    seen = []
    kernel.at(5, lambda _: kernel.after(5, lambda _: seen.append(kernel.now)))
    kernel.advance(100)
    assert seen == [10]


def test_run_stops_with_enough_rows(kernel):
    """Free-running ends as soon as there are enough rows, and also when nothing is queued any more."""
    rows = []
    for time_us in range(10):
        kernel.at(time_us, rows.append, time_us)
    kernel.run(rows, 3)
    assert rows == [0, 1, 2]
    kernel.run(rows, 99)
    assert len(rows) == 10


def test_crash_cancels_timers_and_loses_messages(kernel):
    """A timer belongs to one life of its node, and a node that is down hears nothing."""
    node, network = Listener(kernel), Network(kernel)
    network.nodes["listener"] = node
    node.after(10, node.heard.append, "timer")
    node.crash()
    network.send("note", "test", "listener", "lost")
    network.deliver(0)
    node.restart()
    kernel.advance(20)
    assert (node.heard, node.incarnation, node.running) == (["crash"], 1, True)


def test_pause_holds_messages_and_timers_in_order(kernel):
    """A paused node catches up in order of arrival when it resumes, and loses nothing."""
    node, network = Listener(kernel), Network(kernel)
    network.nodes["listener"] = node
    node.pause()
    node.after(10, node.heard.append, "timer")
    network.send("note", "test", "listener", "message")
    network.deliver(0, keep=True)
    kernel.advance(20)
    network.deliver(0)
    assert node.heard == []
    node.resume()
    assert node.heard == ["message", "timer", "message"]


def test_crash_forgets_what_was_held(kernel):
    """Messages held for a paused node are gone with a crash."""
    node, network = Listener(kernel), Network(kernel)
    network.nodes["listener"] = node
    node.pause()
    network.send("note", "test", "listener", "held")
    network.deliver(0)
    node.restart()
    node.resume()
    assert node.heard == ["crash"]


def test_plain_nodes_must_say_what_they_do(kernel):
    """A node without receive() names itself and the message."""
    network = Network(kernel)
    network.nodes["mute"] = Node("mute", kernel)
    network.send("note", "test", "mute", "hello")
    with pytest.raises(NotImplementedError, match=r"Node mute got Message\(0, note, test -> mute, hello\)"):
        network.deliver(0)


COPIES = [({"drop": 1.0}, 0), ({"duplicate": 1.0}, 2), ({"delay": 1.0}, 1), ({}, 1)]


@pytest.mark.parametrize(("odds", "copies"), COPIES)
def test_lossy_network_loses_doubles_and_delays(kernel, odds, copies):
    """Each fault does what its name says, and is counted."""
    node, faults = Listener(kernel), FaultMix(kernel.random, {})
    network = LossyNetwork(kernel, faults, odds, latency_us=100, long_us=10_000)
    network.nodes["listener"] = node
    for number in range(50):
        network.send("note", "test", "listener", number)
    kernel.advance(100_000)
    assert len(node.heard) == 50 * copies
    assert faults.counts == dict.fromkeys(odds, 50)
    assert copies == 0 or node.heard != sorted(node.heard)


def test_fault_rates_are_respected():
    """Drawing follows the rates, never strikes at rate 0, and refuses rates above one in sum."""
    faults = FaultMix(Kernel(7).random, {"often": 0.3, "seldom": 0.1, "never": 0.0})
    drawn = [faults.draw() for _ in range(10_000)]
    assert 0.28 < drawn.count("often") / 10_000 < 0.32
    assert 0.08 < drawn.count("seldom") / 10_000 < 0.12
    assert "never" not in drawn
    with pytest.raises(ValueError, match=r"add up to 1\.5"):
        FaultMix(Kernel(7).random, {"a": 1.0, "b": 0.5})
