"""Calls on transactions are data, programs of them become simpler, and a cluster is left alone until it is quiet."""

from fencepost.proofs.testing import agree
from fencepost.properties.driving import Program, make
from fencepost.properties.transactions.events.kinds import OLD_LEFT
from fencepost.properties.transactions.interface import EXPIRY_MS, Call, expire, message, missing, probe, settle
from fencepost.reference_impl.systems.transactions import reference

CONFIG = {"seed": 0, "mode": "v2", "clients": 2, "partitions": 2, "groups": 1, "max_epoch": 32767}


def system():
    return reference(CONFIG)


def pumped(cluster, *calls):
    """Return the cluster after these calls, each followed by all its effects."""
    for name, *arguments in calls:
        getattr(cluster, name)(*arguments)
        while cluster.messages() or cluster.log_append():
            if cluster.messages():
                cluster.deliver(cluster.messages()[0][0])
    return cluster


class Deaf:
    """This cluster loses every marker."""

    def __init__(self, cluster):
        self.cluster = cluster

    def __getattr__(self, name):
        return getattr(self.cluster, name)

    def messages(self):
        for flying in self.cluster.messages():
            if flying[1] == "marker":
                self.cluster.drop(flying[0])
        return self.cluster.messages()


def test_messages_are_named_by_what_they_are():
    """Kind, ends and position name a message, and the text has its number, so that it can be pasted."""
    cluster = system()
    cluster.init(0)
    cluster.fence()
    [_, second] = cluster.messages()
    call = Call.about("deliver", second, cluster.messages(), keep=True)
    assert call == Call("deliver", message("init", "admin-0", "coordinator"), keep=True)
    made = make(cluster, call)
    assert made.text == "system.deliver(1, keep=True)  # init of request 1 from admin-0 to coordinator"
    assert make(cluster, Call("drop", message("end", "client-0", "coordinator"))) is None


def test_helpers_are_imported_where_a_program_is_pasted():
    made = make(system(), Call("settle", 100, 2, 1))
    assert made.text == "settle(system, 100, 2, 1)"
    assert made.needs == "fencepost.properties.transactions.interface:settle"
    assert make(system(), Call("expire")).text == "expire(system)"


def test_settling():
    cluster = pumped(system(), ("init", 0), ("begin", 0), ("send", 0, 0), ("send", 0, 2), ("commit", 0))
    cluster.begin(0)
    cluster.send(0, 1)
    settled = settle(cluster, 100, 2, 1)
    assert settled.quiet
    assert settled.waited_ms >= 70_000
    assert settled.records == (((0, 0),), ())
    assert settled.written == (((0, 0),), ((0, 2),))
    assert settled.offsets == ((0, 1),)


def test_settling_waits_for_what_was_lost():
    """A marker is sent again after half a minute, and a new instance asks for its epoch meanwhile; but not for ever."""
    cluster = pumped(system(), ("init", 0), ("begin", 0), ("send", 0, 0), ("restart_client", 0))
    cluster.init(0)
    cluster.deliver(cluster.messages()[0][0])
    cluster.log_append()
    [marker] = [flying[0] for flying in cluster.messages() if flying[1] == "marker"]
    cluster.drop(marker)
    assert settle(cluster, 100, 2, 1).quiet
    assert cluster.begin(0)
    pumped(cluster, ("send", 0, 0), ("restart_client", 0))
    cluster.init(0)
    assert not settle(Deaf(cluster), 102, 2, 1).quiet


def test_probing():
    assert probe(system(), 2, 1)[:3] == (True, True, ())
    cluster = pumped(system(), ("init", 0), ("begin", 0), ("send", 0, 0))
    assert probe(Deaf(cluster), 2, 1)[:3] == (False, False, (0, 1, 2))


def test_ids_expire_only_where_nothing_is_under_way():
    cluster = pumped(system(), ("init", 0))
    assert expire(cluster) == EXPIRY_MS
    cluster = system()
    cluster.init(0)
    assert expire(cluster) == 0


def test_smaller_clusters():
    program = Program({**CONFIG, "clients": 3}, (Call("init", 0), Call("send", 0, 0), Call("settle", 100, 2, 1)))
    found = list(Call.smaller(program))
    assert {p.config["clients"] for p in found} == {1, 2, 3}
    without_groups = next(p for p in found if p.config["groups"] == 0)
    assert without_groups.calls[-1] == Call("settle", 100, 2, 0)
    assert [p.config["partitions"] for p in Call.smaller(without_groups) if p.config["clients"] == 3] == [1]
    needs_group = Program(CONFIG, (Call("send", 1, 2),))
    assert all(p.config["groups"] == 1 for p in Call.smaller(needs_group))


def test_simpler_calls():
    calls = (Call("init", 1), Call("deliver", message("init", "client-1", "coordinator"), keep=True))
    found = [p.calls for p in Call.simpler(Program(CONFIG, calls))]
    assert (Call("init", 0), calls[1]) in found
    assert (Call("init", 0), Call("deliver", message("init", "client-0", "coordinator"), keep=True)) in found
    assert any(not c[1].get("keep") for c in found)
    assert all(c != calls for c in found)
    assert [p.calls for p in Call.simpler(Program(CONFIG, (Call("log_append", ok=False),)))] == [(Call("log_append"),)]


def test_what_an_implementation_lacks():
    assert missing(system(), "v2") == []
    assert missing({}, "v2")[:3] == ["messages", "deliver", "drop"]


def to(kind, target="coordinator"):
    return Call("deliver", message(kind, "client-0", target))


def back(kind, source="coordinator"):
    return Call("deliver", message(f"{kind}_answer", source, "client-0"))


OFFSETS = 1  # the partition behind the data partition
LOGGED = Call("log_append", True)
BEGUN = [Call("init", 0), to("init"), LOGGED, back("init")]
SENT = [Call("begin", 0), Call("send", 0, OFFSETS), to("add"), LOGGED, back("add")]
ENDED = [Call("abort", 0), to("end"), LOGGED, Call("deliver", message("marker", "coordinator", "partition-1"))]
ACKED = [Call("deliver", message("marker_answer", "partition-1", "coordinator")), LOGGED]
LEFT_BY_AN_EARLIER_ID = [
    *BEGUN, *(Call("restart_client", 0), *BEGUN) * 2, *SENT, *ENDED, *ACKED, Call("restart_client", 0), *BEGUN,
    to("produce", "partition-1"), *SENT, *ENDED, Call("fetch_offset", 0, OFFSETS),
]  # fmt: skip
"""In v1 an offset arrives after its marker, and no marker of the next producer id ends it."""


def test_what_an_earlier_producer_id_left_open_is_not_followed():
    """KAFKA-14402: The offset stays pending in Kafka but not in the model, which is no disagreement."""
    size = {"clients": 1, "partitions": 1, "groups": 1, "max_epoch": 3}
    report = agree(
        reference, protocol="transactions", variant="v1", prefixes=[LEFT_BY_AN_EARLIER_ID], max_examples=1, steps=1,
        config=size,
    )  # fmt: skip
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.coverage.beyond == {OLD_LEFT: 1}
    assert report.coverage.calls["fetch_offset"]


LOGGED_LATE = [*BEGUN, Call("begin", 0), Call("send", 0, 0), to("add"), Call("advance", 70_000), LOGGED]


def test_a_transaction_is_as_old_as_its_first_request():
    """txn.18: It times out a minute after that request was handled, however late its record was logged."""
    calls = [*LOGGED_LATE, Call("advance", 10_000)]
    report = agree(reference, protocol="transactions", variant="v1", prefixes=[calls], max_examples=1, steps=1)
    assert report.failure is None, f"{report.failure}\n{report.program}"
    assert report.dangers["time-out"]
