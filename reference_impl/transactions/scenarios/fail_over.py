"""Known bugs of a coordinator that takes over, or does not know that it was replaced: see `scenarios.py`."""

from fencepost.reference_impl.transactions.defects.successors import LoadsPastTheHighWatermark
from fencepost.reference_impl.transactions.outages import depose, fail_over_uncovered, misdirect
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    KNOWN,
    TXN_TIMEOUT_MS,
    Script,
)
from fencepost.reference_impl.transactions.system import Parts


@KNOWN.shown(
    "KAFKA-20357",
    {"mode": "v1-verified", "release": "4.3"},
    {"mode": "v1-verified", "release": "trunk"},
    reference=True,
)
def retry_at_the_next_coordinator(script: Script) -> None:
    """KAFKA-20357: the epoch before the last bump was not in the transaction log.

    A producer whose bump was recorded, and its answer lost, asks again, and meets a coordinator that has taken over:
    its epoch looks like that of a stranger, and it is fenced. Recorded (trunk), it is known, and answered as before.
    """
    script.start(0)
    script.begin(0, 1)
    script.system.send(0, 0)
    script.hold_next("produce")
    script.lose("produce")
    script.system.abort(0)  # with a record in doubt: the producer wants another epoch (KIP-360)
    bump = script.hold_next("init")
    script.settle()
    script.let_in(bump)
    script.system.log_append()
    script.lose("init_answer")
    script.system.fail_over()
    script.settle(CLIENT_TIMEOUT_MS)
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.defect("KAFKA-20310", "reload_forgets_rotation")
def fail_over_while_the_id_changes(script: Script) -> None:
    """KAFKA-20310: the next producer id was not in the transaction log either.

    The epochs are used up, and a coordinator takes over between Prepare and Complete: it goes on in the epoch that is
    reserved, and the producer, which was given the next id, is a stranger.
    """
    script.at_the_last_epoch()
    script.system.commit(0)
    script.hold_next("marker")
    script.lose("marker")
    script.system.fail_over()
    script.settle()
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.shown("deposed-coordinator", {"mode": "v1-verified"}, {"mode": "v2"}, reference=True)
def deposed_answers_a_leader(script: Script) -> None:
    """A coordinator that was replaced, and does not know it, still says yes to a leader that asks about a late record.

    The record of the aborted transaction is written behind its marker, and the next commit shows it. In v2 the marker
    has raised the epoch: the answer to the leader does not help.
    """
    script.start(0)
    script.begin(0, 0)
    script.system.send(0, 0)
    late = script.hold_next("produce")
    depose(script.system)
    script.abort(0)
    script.let_in(late)
    misdirect(script.system, script.flying("check"))
    script.settle()
    script.begin(0, 0)
    script.commit(0)
    script.read()


@KNOWN.shown("deposed-coordinator-prompt", {"mode": "v1"}, {"mode": "v2"}, reference=True)
def deposed_answers_an_owner(script: Script) -> None:
    """A coordinator that was replaced still has the transaction before: it answers a commit as one it has done.

    In v1 both have one epoch. The owner hears that its transaction is committed, and the new coordinator aborts it
    when its time is up. In v2 the request is one that the old coordinator cannot place, and the owner fails.
    """
    script.start(0)
    script.begin(0, 0)
    script.commit(0)
    depose(script.system)
    script.begin(0, 0)
    script.system.commit(0)
    end = script.hold_next("end")
    misdirect(script.system, end)
    script.release(end)
    script.settle(TXN_TIMEOUT_MS)
    script.read()


@KNOWN.shown("uncovered-Prepare", {"parts": Parts(coordinator=LoadsPastTheHighWatermark)}, {}, reference=True)
def prepare_that_one_replica_has(script: Script) -> None:
    """A coordinator that takes over acts on a Prepare record that only it has, and is lost with that record.

    One of two partitions has got its marker; for the next coordinator the transaction is open, and its time is up.
    """
    script.start(0)
    script.begin(0, 0, 1)
    script.system.commit(0)
    script.let_in(script.hold_next("end"))
    script.system.restart_client(0)
    fail_over_uncovered(script.system)
    script.let_in(script.flying("marker", "partition-0"))
    script.lose("marker")
    script.system.fail_over(durable=False)
    script.settle(TXN_TIMEOUT_MS)
    script.read()
