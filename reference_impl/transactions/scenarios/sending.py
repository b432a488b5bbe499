"""Known bugs of idempotent producers, which raise their epoch by themselves: see `scenarios.py`."""

from fencepost.reference_impl.transactions.clients.idempotent import IdempotentProducer
from fencepost.reference_impl.transactions.defects.client import RenumbersAll, RenumbersRefused
from fencepost.reference_impl.transactions.scenarios.script import (
    CLIENT_TIMEOUT_MS,
    KNOWN,
    Script,
)
from fencepost.reference_impl.transactions.system import Parts


@KNOWN.shown(
    "KAFKA-14034",
    {"parts": Parts(producer=RenumbersRefused), "leader_change": "restart"},
    {"parts": Parts(producer=IdempotentProducer), "leader_change": "restart"},
    reference=True,
)
def restarted_leader_refuses(script: Script) -> None:
    """KAFKA-14034: a leader that was restarted remembers one batch of a producer, and refuses the one before.

    Both are in its log, and their answers were lost. Sent again under the next epoch, they are written once more;
    given up, the application hears that they may have been.
    """
    script.start(0)
    script.system.send(0, 0)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.change_leader(0)
    script.settle(CLIENT_TIMEOUT_MS)
    script.send(0, 0)
    script.read()


@KNOWN.shown(
    "librdkafka-4953",
    {"parts": Parts(producer=RenumbersAll)},
    {"parts": Parts(producer=IdempotentProducer)},
    reference=True,
)
def another_partition_raises_the_epoch(script: Script) -> None:
    """librdkafka 4953: of two records in flight the first is lost, and the second is out of order, as it has to be.

    Taken for a reason to raise the epoch, it has the record of another partition sent again, which was written and
    whose answer was lost. Correct: the two are sent again, in their order.
    """
    script.start(0)
    script.send(0, 1)
    script.system.send(0, 0)
    lose_answers(script, 0)
    script.system.send(0, 1)
    script.lose("produce")
    script.send(0, 1)
    script.settle(CLIENT_TIMEOUT_MS)
    script.read()


def lose_answers(script: Script, partition: int) -> None:
    """What is in flight to a partition is written, and the answers are lost."""
    script.let_in(script.flying("produce", f"partition-{partition}"))
    script.lose("produce_answer")
