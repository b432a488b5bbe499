"""Known bugs of idempotent producers, which raise their epoch by themselves: see `scenarios.py`."""

from collections.abc import Callable

from fencepost.reference_impl.transactions.clients.idempotent import IdempotentProducer
from fencepost.reference_impl.transactions.defects.idempotent import RenumbersAll, RenumbersRefused
from fencepost.reference_impl.transactions.events import Event
from fencepost.reference_impl.transactions.scenarios.playing import CLIENT_TIMEOUT_MS
from fencepost.reference_impl.transactions.scenarios.script import Script
from fencepost.reference_impl.transactions.system import Parts


def restarted_leader_refuses(broken: bool) -> list[Event]:
    """KAFKA-14034: a leader that was restarted remembers one batch of a producer, and refuses the one before.

    Both are in its log, and their answers were lost. Sent again under the next epoch, they are written once more;
    given up, the application hears that they may have been.
    """
    producer = RenumbersRefused if broken else IdempotentProducer
    script = Script(Parts(producer=producer), leader_change="restart")
    script.start(0)
    script.system.send(0, 0)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.send(0, 0)
    script.read()
    return script.told()


def another_partition_raises_the_epoch(broken: bool) -> list[Event]:
    """librdkafka 4953: of two records in flight the first is lost, and the second is out of order, as it has to be.

    Taken for a reason to raise the epoch, it has the record of another partition sent again, which was written and
    whose answer was lost. Correct: the two are sent again, in their order.
    """
    script = Script(Parts(producer=RenumbersAll if broken else IdempotentProducer))
    script.start(0)
    script.send(0, 1)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.send(0, 1)
    script.lose("produce")
    script.send(0, 1)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()
    return script.told()


def lose_answers(script: Script, partition: int) -> None:
    """What is in flight to a partition is written, and nobody hears of it."""
    script.let_in(script.flying("produce", f"partition-{partition}"))
    script.lose("produce_answer")


SENDING: dict[str, Callable[[bool], list[Event]]] = {
    "KAFKA-14034": restarted_leader_refuses,
    "librdkafka-4953": another_partition_raises_the_epoch,
}
