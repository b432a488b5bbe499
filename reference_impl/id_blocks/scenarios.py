"""Known bugs of producer id blocks as short scripts: each once with the defect, once without it.

    scenario("KAFKA-15552", broken=True)      # events in which one id is handed out twice
    scenario("KAFKA-15552", broken=False)     # the same deliveries, correct code: no id twice

Every script drives the plug, so that it also reads as a minimal history of the bug.
"""

from collections.abc import Callable

from fencepost.reference_impl.id_blocks.broker import ProducerIds
from fencepost.reference_impl.id_blocks.defects.broken import REGISTRY
from fencepost.reference_impl.id_blocks.defects.broker import OverlapByOneAccepted
from fencepost.reference_impl.id_blocks.defects.controller import AdvancedOneTooLittle
from fencepost.reference_impl.id_blocks.events import Event
from fencepost.reference_impl.id_blocks.system import Parts, System, build

CLUSTER = {"seed": 0, "brokers": 2, "controllers": 3, "block_size": 10, "max_id": 1000}


def scenario(name: str, broken: bool) -> list[Event]:
    """The events of one scenario, with or without its defect. Raises KeyError with the known names."""
    if name not in SCENARIOS:
        raise KeyError(f"no scenario is called {name!r}: known are {', '.join(SCENARIOS)}")
    return SCENARIOS[name](broken)


def migration_reissues_a_block(broken: bool) -> list[Event]:
    """KAFKA-15552: ZooKeeper holds the block in use, KRaft needs the next free id; the migration copied the former.

    Broker 0 takes [0, 9] from ZooKeeper through the controller and hands out 0. After the migration broker 1 asks
    KRaft: starting at the block's first id it gets [0, 9] again, starting behind its last it gets [10, 19].
    """
    parts = REGISTRY["migrates_from_block_start"].parts if broken else Parts()
    system = build({**CLUSTER, "mode": "bridge", "inter_broker_protocol": "3.4"}, parts)
    fetch_block(system, 0)
    system.init_producer_id(0)
    system.migrate()
    fetch_block(system, 1)
    system.init_producer_id(1)
    return system.drain_events()


def overlap_by_one_is_accepted(broken: bool) -> list[Event]:
    """KAFKA-20031: the broker compared the new block's start with `<`, so a start equal to its last id passed.

    It takes a faulty controller to show it: one that counts one id too few and answers [9, 18] after [0, 9].
    The correct broker refuses that block and backs off; the broken one hands out 9 twice.
    """
    ids = OverlapByOneAccepted if broken else ProducerIds
    system = build({**CLUSTER, "prefetch": 0}, Parts(ids, AdvancedOneTooLittle))
    for _ in range(2):
        fetch_block(system, 0)
        for _ in range(10):
            system.init_producer_id(0)
    return system.drain_events()


def claim_counter_shared_over_blocks(broken: bool) -> list[Event]:
    """KAFKA-14694: a first asynchronous version let the claim counter of one block act on another.

    The prefetched block arrives while the current one still has an id; a counter that is not tied to its block
    starts again and the current block is handed out from its beginning.
    """
    parts = REGISTRY["shared_claim_counter"].parts if broken else Parts()
    system = build(CLUSTER, parts)
    fetch_block(system, 0)
    for _ in range(10):  # the last of these is the 90 % mark: the next block is requested
        system.init_producer_id(0)
        settle(system)
    system.init_producer_id(0)
    return system.drain_events()


def second_prefetch_overwrites_the_first(broken: bool) -> list[Event]:
    """KAFKA-20114: two demands see the block used up and both ask; the second answer replaces the first.

    No id comes twice, broken or not: the broken broker loses a whole block. The promise is not what breaks here.
    """
    parts = REGISTRY["double_prefetch"].parts if broken else Parts()
    system = build(CLUSTER, parts)
    for _ in range(2):
        system.init_producer_id(0)
    settle(system)
    system.init_producer_id(0)
    return system.drain_events()


def answered_before_commit(broken: bool) -> list[Event]:
    """The KIP never says that the record is committed *before* the answer; answering first loses the block.

    Broker 0 gets [0, 9] from a controller that dies with the record uncommitted; the next one knows nothing of it
    and gives [0, 9] to broker 1. Waiting for the commit, broker 0's answer dies with the controller instead.
    """
    parts = REGISTRY["answers_before_commit"].parts if broken else Parts()
    system = build(CLUSTER, parts)
    system.init_producer_id(0)
    deliver_all(system)
    system.fail_over()
    fetch_block(system, 1)
    for broker in (0, 1):
        system.init_producer_id(broker)
    return system.drain_events()


SCENARIOS: dict[str, Callable[[bool], list[Event]]] = {
    "KAFKA-15552": migration_reissues_a_block,
    "KAFKA-20031": overlap_by_one_is_accepted,
    "KAFKA-14694": claim_counter_shared_over_blocks,
    "KAFKA-20114": second_prefetch_overwrites_the_first,
    "answer-before-commit": answered_before_commit,
}


def fetch_block(system: System, broker: int) -> None:
    """Let a client's demand bring one block to `broker`, without any fault."""
    system.init_producer_id(broker)
    settle(system)


def settle(system: System) -> None:
    """Deliver, commit and step ZooKeeper for the controller until nothing moves."""
    while system.messages() or system.zk_step(-1):
        deliver_all(system)
        system.commit()


def deliver_all(system: System) -> None:
    """Deliver what is in flight, oldest first, and what that sends."""
    while flying := system.messages():
        system.deliver(flying[0][0])
