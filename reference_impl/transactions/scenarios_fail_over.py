"""Known bugs of a coordinator that takes over, or does not know that it was replaced: see `scenarios.py`."""

from collections.abc import Callable

from fencepost.reference_impl.transactions.events import Event
from fencepost.reference_impl.transactions.playing import CLIENT_TIMEOUT_MS, at_the_last_epoch, played
from fencepost.reference_impl.transactions.script import Script
from fencepost.reference_impl.transactions.system import Parts


def retry_at_the_next_coordinator(broken: bool) -> list[Event]:
    """KAFKA-20357: the epoch before the last bump was not in the transaction log.

    A producer whose bump was recorded, and its answer lost, asks again, and meets a coordinator that has taken over:
    its epoch looks like that of a stranger, and it is fenced. Recorded (trunk), it is known, and answered as before.
    """
    script = Script(Parts(), mode="v1-verified", release="4.3" if broken else "trunk")
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
    return script.told()


def fail_over_while_the_id_changes(broken: bool) -> list[Event]:
    """KAFKA-20310: the next producer id was not in the transaction log either.

    The epochs are used up, and a coordinator takes over between Prepare and Complete: it goes on in the epoch that is
    reserved, and the producer, which was told the next id, is a stranger.
    """
    script = played("reload_forgets_rotation", broken)
    at_the_last_epoch(script)
    script.system.commit(0)
    script.hold_next("marker")
    script.lose("marker")
    script.system.fail_over()
    script.settle()
    script.begin(0, 0)
    script.commit(0)
    script.read()
    return script.told()


FAIL_OVER: dict[str, Callable[[bool], list[Event]]] = {
    "KAFKA-20357": retry_at_the_next_coordinator,
    "KAFKA-20310": fail_over_while_the_id_changes,
}
