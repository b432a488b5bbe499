"""Known bugs of producer id blocks as short scripts: each once with the defect, once without it.

    scenario("KAFKA-15552", broken=True)      # events in which one id is handed out twice
    scenario("KAFKA-15552", broken=False)     # the same deliveries, correct code: no id twice
    play("KAFKA-15552", factory)              # the same deliveries with another implementation

Every script drives the plug, so that it also reads as a minimal history of the bug.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from fencepost.reference_impl.id_blocks.broker import ProducerIds
from fencepost.reference_impl.id_blocks.defects.broken import REGISTRY
from fencepost.reference_impl.id_blocks.defects.broker import OverlapByOneAccepted
from fencepost.reference_impl.id_blocks.defects.controller import AdvancedOneTooLittle
from fencepost.reference_impl.id_blocks.system import Parts, System, build
from fencepost.reference_impl.simulation import scenarios
from fencepost.reference_impl.simulation.scenarios import Known


def settle(system: Any) -> None:
    """Deliver, commit and step ZooKeeper for the controller until nothing moves."""
    while system.messages() or system.zk_step(-1):
        deliver_all(system)
        system.commit()


def deliver_all(system: Any) -> None:
    """Deliver what is in flight, oldest first, and what that sends."""
    while flying := system.messages():
        system.deliver(flying[0][0])


def fetch_block(system: Any, broker: int) -> None:
    """Let a client's demand bring one block to `broker`, without any fault."""
    system.init_producer_id(broker)
    settle(system)


class Script(scenarios.Script):
    """A cluster of these parts, or of another implementation."""

    SMALL = MappingProxyType({"seed": 0, "brokers": 2, "controllers": 3, "block_size": 10, "max_id": 1000})

    def build(self, config: Mapping[str, Any], parts: Parts | None) -> System:
        return build(config, parts or Parts())

    def fetch_block(self, broker: int) -> None:
        """As `fetch_block`, on the script's cluster."""
        fetch_block(self.system, broker)


KNOWN = Known(Script, REGISTRY)


@KNOWN.defect("KAFKA-15552", "migrates_from_block_start", mode="bridge", inter_broker_protocol="3.4")
def migration_reissues_a_block(script: Script) -> None:
    """KAFKA-15552: ZooKeeper holds the block in use, KRaft needs the next free id; the migration copied the former.

    Broker 0 takes [0, 9] from ZooKeeper through the controller and hands out 0. After the migration broker 1 asks
    KRaft: starting at the block's first id it gets [0, 9] again, starting behind its last it gets [10, 19].
    """
    script.fetch_block(0)
    script.system.init_producer_id(0)
    script.system.migrate()
    script.fetch_block(1)
    script.system.init_producer_id(1)


@KNOWN.shown(
    "KAFKA-20031",
    {"parts": Parts(OverlapByOneAccepted, AdvancedOneTooLittle), "prefetch": 0},
    {"parts": Parts(ProducerIds, AdvancedOneTooLittle), "prefetch": 0},
    reference=True,
)
def overlap_by_one_is_accepted(script: Script) -> None:
    """KAFKA-20031: the broker compared the new block's start with `<`, so a start equal to its last id passed.

    It takes a faulty controller to show it: one that counts one id too few and answers [9, 18] after [0, 9].
    The correct broker refuses that block and backs off; the broken one hands out 9 twice.
    """
    for _ in range(2):
        script.fetch_block(0)
        for _ in range(10):
            script.system.init_producer_id(0)


@KNOWN.defect("KAFKA-14694", "shared_claim_counter")
def claim_counter_shared_over_blocks(script: Script) -> None:
    """KAFKA-14694: a first asynchronous version let the claim counter of one block act on another.

    The prefetched block arrives while the current one still has an id; a counter that is not tied to its block
    starts again and the current block is handed out from its beginning.
    """
    script.fetch_block(0)
    for _ in range(10):  # the last of these is the 90 % mark: the next block is requested
        script.fetch_block(0)
    script.system.init_producer_id(0)


@KNOWN.defect("KAFKA-20114", "double_prefetch")
def second_prefetch_overwrites_the_first(script: Script) -> None:
    """KAFKA-20114: two demands see the block used up and both ask; the second answer replaces the first.

    No id comes twice, broken or not: the broken broker loses a whole block. The promise is not what breaks here.
    """
    script.system.init_producer_id(0)
    script.fetch_block(0)
    script.system.init_producer_id(0)


@KNOWN.defect("answer-before-commit", "answers_before_commit")
def answered_before_commit(script: Script) -> None:
    """The KIP never says that the record is committed *before* the answer; answering first loses the block.

    Broker 0 gets [0, 9] from a controller that dies with the record uncommitted; the next one knows nothing of it
    and gives [0, 9] to broker 1. Waiting for the commit, broker 0's answer dies with the controller instead.
    """
    script.system.init_producer_id(0)
    deliver_all(script.system)
    script.system.fail_over()
    script.fetch_block(1)
    for broker in (0, 1):
        script.system.init_producer_id(broker)


SCENARIOS = KNOWN
scenario, play = KNOWN.scenario, KNOWN.play
