"""Two systems driven as one: the same is the same under any names, and a difference is found, told and made short."""

import pytest
from fencepost.proofs.testing import agree
from fencepost.properties.transactions.interface import missing
from fencepost.reference_impl.live import prompt
from fencepost.reference_impl.live.transactions.beside import beside
from fencepost.reference_impl.live.transactions.sides import Difference, Names
from fencepost.reference_impl.transactions import Event
from fencepost.reference_impl.transactions.defects.broken import find
from fencepost.reference_impl.transactions.environment import Environment
from fencepost.reference_impl.transactions.system import Parts, build

MODES = ("v1", "v1-verified", "v2")
SMALL = {"seed": 0, "mode": "v2", "clients": 2, "partitions": 1, "groups": 1, "collapse": True}

# What a broker that acts by itself shows of a defect: the rule, and at most so many calls that show it.
SHOWN = {
    "init_keeps_epoch": ("v2", 6), "end_keeps_epoch": ("v2", 9), "add_takes_older_epoch": ("v1", 10),
    "older_epoch_accepted": ("v1", 12), "unverified": ("v1-verified", 20), "sequence_unchecked": ("v2", 8),
    "window_outlives_epoch": ("v2", 14), "reads_to_the_end": ("v2", 8), "aborted_list_cut_short": ("v2", 16),
    "offsets_applied_at_once": ("v2", 8), "abort_commits_offset": ("v2", 10), "six_in_flight": ("v2", 12),
}  # fmt: skip


def run(left, right=prompt, **config):
    """Both, with a transaction of one record under way."""
    system = beside(left, right, {**SMALL, **config})
    system.init(0)
    pump(system)
    assert system.begin(0) and system.send(0, 0)
    pump(system)
    return system


def pump(system):
    """Deliver everything, oldest first."""
    while messages := system.messages():
        system.deliver(messages[0][0])


class Elsewhere(Environment):
    """Numbers of a cluster that has seen others before."""

    __slots__ = ()

    def next_producer_id(self):
        return 4_000 + super().next_producer_id()

    def next_request(self):
        return 70 + 3 * super().next_request()


def elsewhere(config):
    """The reference under other names."""
    system = prompt(config)
    system.system.env.__class__ = Elsewhere
    return system


def altered(**changes):
    """The reference, with columns changed in every event of the kind given."""
    kind = changes.pop("kind")

    def factory(config):
        system = prompt(config)
        drain = system.drain_events
        system.drain_events = lambda: [e._replace(**changes) if e.kind == kind else e for e in drain()]
        return system

    return factory


@pytest.mark.parametrize("mode", MODES)
def test_the_same_beside_itself_is_the_same(mode):
    """No difference where there is none, under any names that the two sides give to producer ids and requests."""
    report = agree(
        lambda config: beside(elsewhere, prompt, config), protocol="transactions", variant=mode, promises_only=True,
        observed=frozenset(), max_examples=25, config={"max_epoch": 32767, "collapse": True, "timeouts": True},
    )  # fmt: skip
    assert report.verdict == "holds", report.failure


def test_it_has_the_plug():
    """Whatever drives a cluster can drive two."""
    assert missing(beside(prompt, prompt, SMALL), "v2") == []


@pytest.mark.parametrize("name", SHOWN)
def test_a_defect_is_found_and_made_short(name):
    """A broken implementation beside the reference: the search reports the difference, with a short program that ends
    in it."""
    mode, most = SHOWN[name]
    broken = find(name)
    report = agree(
        lambda config: beside(lambda inner: prompt(inner, broken), prompt, config, ("broken", "right")),
        protocol="transactions", variant=mode, promises_only=True, observed=frozenset(), max_examples=80,
        config={"max_epoch": 32767, "groups": 1, "collapse": True, "timeouts": True},
    )  # fmt: skip
    assert report.failure is not None and "raised Difference(" in report.failure.first_bad
    assert " broken, " in report.failure.first_bad and " right" in report.failure.first_bad
    assert report.failure.calls <= most, report.program
    assert report.program.splitlines()[-1].startswith("system.")


def test_what_is_told_can_be_read():
    """A difference is one line: which event, which column, and whose value is which."""
    with pytest.raises(Difference) as caught:
        run(altered(kind="record_acked", offset=7))
    assert str(caught.value) == (
        "record_acked (client 0, txn 0, record 0, partition 0, request 1): offset is 7 on the left, 0 on the right"
    )


def test_an_id_given_out_twice_stays_one():
    """730.P1: renaming in order of appearance keeps two producers apart, or the same, as they are."""
    names = Names()
    assert [names[n] for n in (4000, -1, 5000, 4000)] == [0, -1, 1, 0]


def test_where_an_offset_was_written_is_unseen():
    """Kafka's answer to TxnOffsetCommit has no offset, so none is compared; that of a record is."""

    def nowhere(config):
        system = prompt(config)
        drain = system.drain_events
        system.drain_events = lambda: [_nowhere(event) for event in drain()]
        return system

    system = run(nowhere)
    assert system.send(0, 1)
    pump(system)
    assert system.commit(0)
    pump(system)
    assert system.fetch_offset(0, 1) == (0, 1)


def _nowhere(event: Event) -> Event:
    return event._replace(offset=-1) if event.kind == "record_acked" and event.partition == 1 else event


def test_a_message_too_few_is_a_difference():
    """What is in flight is compared: a broker that does not answer differs at once."""

    def mute(config):
        system = prompt(config)
        messages = system.messages
        system.messages = lambda: [m for m in messages() if m[1] != "end_answer"]
        return system

    system = run(mute)
    system.commit(0)
    with pytest.raises(Difference, match=r"message 0 in flight is nothing on the left, end_answer of request 2"):
        pump(system)


def test_an_event_too_many_is_a_difference():
    """Events are compared in number, too."""

    def twice(config):
        system = prompt(config)
        drain = system.drain_events
        system.drain_events = lambda: [copy for e in drain() for copy in [e] * (1 + (e.kind == "end_told"))]
        return system

    system = run(twice)
    system.commit(0)
    with pytest.raises(Difference, match=r"the next event is end_told .* on the left, nothing on the right"):
        pump(system)


def test_a_result_is_compared():
    """What a reader gets is compared as it is."""
    system = run(lambda config: prompt(config, find("reads_to_the_end")))
    with pytest.raises(Difference, match=r"read\(0, 0, True\) returned \(\(0, 0\),\) on the left, \(\) on the right"):
        system.read(0, 0)


def test_the_drivers_mistakes_are_told_as_by_one_system():
    """A message that is not in flight is a KeyError, a partition that holds no offsets a ValueError; neither is a
    difference."""
    system = run(prompt)
    with pytest.raises(KeyError, match="no message 99 in flight"):
        system.deliver(99)
    with pytest.raises(ValueError, match="partition 0 holds records"):
        system.fetch_offset(0, 0)


def test_a_copy_is_the_same_message_on_both_sides():
    """Delivering with a copy left in flight, and the copy later, is done on both sides, whatever they call it."""
    system = run(elsewhere)
    assert system.send(0, 0)
    (number, *rest) = system.messages()[0]
    system.deliver(number, keep=True)
    assert system.messages()[0] == (number, *rest)
    system.drop(number)
    assert [m[1] for m in system.messages()] == ["produce_answer"]


def test_markers_that_never_come_are_seen_by_readers():
    """txn.10: two systems that differ only where nobody outside sees it differ in what can be read."""

    class NoMarkers(Parts().coordinator.markers_type):
        def marker_partitions(self, this_round):
            this_round.unwritten.clear()
            return []

    class Lazy(Parts().coordinator):
        markers_type = NoMarkers

    system = run(lambda config: prompt(config, lambda inner: build(inner, Parts(coordinator=Lazy))))
    system.commit(0)
    pump(system)
    with pytest.raises(Difference, match=r"read\(0, 0, True\)"):
        system.read(0, 0)


def test_what_an_answer_says_is_compared_before_it_arrives():
    """Also where no client waits for it any more: a copy of a record, refused on one side and taken on the other."""
    system = run(lambda config: prompt(config, find("older_epoch_accepted")), mode="v1")
    assert system.send(0, 0)
    (number, *_) = system.messages()[0]
    system.init(1)
    system.deliver(number + 1)
    with pytest.raises(Difference, match=r"produce_answer of request \d from partition-0: error is 0 on the left, 47"):
        system.deliver(number)
