"""The zombie: a real client is paused in the middle of a transaction, another fences it, and it goes on as if nothing
had happened.  Recorded by the sniffing proxy, on whatever brokers.

    ran = zombie(bootstrap, "topic", "txn-id", library="librdkafka")
    judge(ran.events, folder, mode="v1").rules           # what is broken, by name
    ran.told                                             # what the paused client was told when it went on
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from client_process import PATIENCE_S, ClientProcess, Reported
from fencepost.reference_impl.live.proxy.proxy import Proxy
from fencepost.reference_impl.live.transactions.clients.sniffing import Sniffer
from recorded import Readers

BEFORE, OTHER, AFTER, LAST, STUCK = 0, 1, 2, 3, 4
"""Records: the paused client's before its pause, that of the client that fences it, the zombie's own, one that the
other client commits when the zombie has had its say, and one that the paused client sent before its pause and that
arrives after the fence."""


class Zombie(NamedTuple):
    """What happened. `reported`: what came of the zombie's send and of its commit; `read`: what a reader got in the
    end; `stuck_error`: the answer to the record that arrived late, -1 without one."""

    events: list[dict[str, Any]]
    reported: tuple[Reported, Reported]
    read: list[int]
    stuck_error: int = -1


def zombie(bootstrap: str, topic: str, txn_id: str, library: str = "librdkafka", is_one_stuck: bool = False) -> Zombie:
    """Run it on partition 0 of an empty topic; `is_one_stuck`: a second record of the paused client is on its way when
    that is fenced, and comes to the broker only then.

    Raises AssertionError where a step fails that every broker allows.
    """
    places = [(topic, 0)]
    sniffer = Sniffer(places)
    readers = Readers(sniffer, bootstrap, places)
    with (
        Proxy(bootstrap, sniffer, timeout_s=PATIENCE_S) as proxy,
        ClientProcess(library, proxy.bootstrap, txn_id, "paused") as paused,
        ClientProcess(library, proxy.bootstrap, txn_id, "other") as other,
    ):
        fine([paused.do("init"), paused.do("begin"), paused.do("send", topic, 0, BEFORE)])
        stuck = proxy.hold_next("Produce", txn_id, "paused") if is_one_stuck else None
        if stuck is not None:
            paused.start("send", topic, 0, STUCK)
            stuck.wait()
        paused.pause()
        fine([other.do("init"), other.do("begin"), other.do("send", topic, 0, OTHER), other.do("commit")])
        readers.read(0)
        stuck_error = -1
        if stuck is not None:
            stuck.release()
            [[answer]] = [each.partition_responses for each in stuck.answer().responses]
            stuck_error = int(answer.error_code)
        paused.resume()
        if stuck is not None:
            paused.answer()
        reported = paused.do("send", topic, 0, AFTER), commit(paused)
        for each in reported:
            if each.severity == "FATAL":
                sniffer.report("client_failed", client=sniffer.client("paused"), error=each.code)
                break
        fine([other.do("begin"), other.do("send", topic, 0, LAST), other.do("commit")])
        read = readers.read(0, is_settled=True)
    return Zombie(sniffer.drain(), reported, read, stuck_error)


def commit(client: ClientProcess) -> Reported:
    """Commit, until that is done or the library says that it never will be.

    kafka-python answers the zombie's first error by asking for the next epoch, and only then knows that it is fenced.
    If a client has a transaction open by then, Kafka aborts that: so none has one here.
    """
    deadline = time.monotonic() + PATIENCE_S
    while (reported := client.do("commit")).severity == "ABORTABLE" and time.monotonic() < deadline:
        time.sleep(0.05)
    return reported


def fine(reported: list[Reported]) -> None:
    """Nothing went wrong."""
    assert all(each.code == 0 for each in reported), reported
