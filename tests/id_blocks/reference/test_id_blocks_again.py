"""Ids that come twice, a directed program for each defect that uses a block, an answer or a memory again (730.P1).

A program is the same with the defect and without it; it returns what clients were answered.
"""

from collections.abc import Callable
from typing import Any

import pytest
from fencepost.reference_impl.id_blocks import reference
from fencepost.reference_impl.id_blocks.defects.broken import REGISTRY
from fencepost.reference_impl.id_blocks.scenarios import fetch_block, settle

PROGRAMS: dict[str, Callable[[Any], list[int]]] = {}
SMALL = {"brokers": 2, "controllers": 3, "block_size": 4, "max_id": 100, "prefetch": 0.5}


def shows(name: str) -> Callable[[Callable[[Any], list[int]]], Callable[[Any], list[int]]]:
    """The decorated program shows this defect."""

    def register(program: Callable[[Any], list[int]]) -> Callable[[Any], list[int]]:
        PROGRAMS[name] = program
        return program

    return register


def claimed(system: Any, broker: int, times: int) -> list[int]:
    """The ids that a broker hands out when asked so often, everything delivered in between."""
    ids = []
    for _ in range(times):
        ids.append(system.init_producer_id(broker)[1])
        settle(system)
    return [number for number in ids if number >= 0]


def to_zookeeper(system: Any, *brokers: int) -> None:
    """The next operation of each of these at ZooKeeper, in this order."""
    for broker in brokers:
        assert system.zk_step(broker)


@shows("prefetched_block_stays")
def two_blocks(system: Any) -> list[int]:
    """A broker goes on from its first block to the one in reserve, and to the next."""
    return claimed(system, 0, 12)


@shows("prefetched_block_saved")
def restart_after_a_block_in_reserve(system: Any) -> list[int]:
    """The block in reserve is in use when the broker stops."""
    before = claimed(system, 0, 6)
    system.restart_broker(0)
    return before + claimed(system, 0, 4)


@shows("numbers_begin_again")
def copy_of_an_answer_in_the_next_life(system: Any) -> list[int]:
    """The answer to the first request of a life comes a second time in the next one, which has asked as well."""
    system.init_producer_id(0)
    system.deliver(system.messages()[0][0])
    system.commit()
    answer = system.messages()[0][0]
    system.deliver(answer, keep=True)
    ids = [system.init_producer_id(0)[1]]
    system.restart_broker(0)
    system.init_producer_id(0)
    system.deliver(answer)
    return ids + claimed(system, 0, 3)


@shows("old_memory_trusted")
def the_first_controller_again(system: Any) -> list[int]:
    """Office goes round all controllers, and each of them gives a block away."""
    ids = []
    for broker in (0, 1, 0, 1):
        system.restart_broker(broker)
        fetch_block(system, broker)
        ids += claimed(system, broker, 1)
        system.fail_over()
    return ids


@shows("lost_requests_answered_later")
def request_of_an_earlier_term(system: Any) -> list[int]:
    """A record is lost with its controller; when that one is in office again the next record is committed."""
    system.init_producer_id(0)
    system.deliver(system.messages()[0][0])
    system.fail_over()
    ids = claimed(system, 1, 2)
    system.fail_over()
    system.fail_over()
    system.restart_broker(1)
    return ids + claimed(system, 1, 2) + claimed(system, 0, 1)


@shows("resigning_controller_answers")
def fail_over_before_the_commit(system: Any) -> list[int]:
    """A record is lost with its controller, and the block is given to another broker."""
    system.init_producer_id(0)
    system.deliver(system.messages()[0][0])
    system.fail_over()
    settle(system)
    return claimed(system, 0, 1) + claimed(system, 1, 3)


@shows("snapshot_keeps_the_first")
def snapshot_of_two_blocks(system: Any) -> list[int]:
    """Two brokers have a block each; a snapshot, and another controller."""
    ids = claimed(system, 0, 2) + claimed(system, 1, 2)
    system.snapshot()
    system.fail_over()
    system.restart_broker(0)
    return ids + claimed(system, 0, 2)


@shows("blocks_begin_at_multiples")
def blocks_of_another_length(system: Any) -> list[int]:
    """A block of three ids, and then one of four."""
    system.set_block_size(3)
    ids = claimed(system, 0, 2)
    system.set_block_size(4)
    return ids + claimed(system, 1, 2)


@shows("lost_race_taken_for_won")
def two_brokers_race(system: Any) -> list[int]:
    """Both have read the same node; the second to write has lost, and finds the block that it wanted in there."""
    to_zookeeper(system, 0, 1, 0, 1)
    return [system.init_producer_id(broker)[1] for broker in (0, 1)]


@shows("controller_remembers_its_block")
def controller_and_a_broker_in_turn(system: Any) -> list[int]:
    """During the upgrade one broker asks the controller, the other takes its blocks itself."""
    system.upgrade_broker(0)
    ids = claimed(system, 0, 2)
    to_zookeeper(system, 1, 1)
    ids += [system.init_producer_id(1)[1]]
    system.restart_broker(0)
    return ids + claimed(system, 0, 2)


@shows("begins_again_at_the_end")
def all_blocks_taken(system: Any) -> list[int]:
    """A broker starts often enough to take every block that there is."""
    ids = []
    for _ in range(30):
        system.restart_broker(1)
        while system.zk_step(1):
            pass
        ids.append(system.init_producer_id(1)[1])
    return [number for number in ids if number >= 0]


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_an_id_comes_twice_with_the_defect_only(name: str) -> None:
    """730.P1: clients are answered with the same id twice, and with different ones by the correct implementation."""
    config = {**SMALL, **dict(REGISTRY[name].needs)}
    wrong, right = PROGRAMS[name](REGISTRY[name](config)), PROGRAMS[name](reference(config))
    assert len(wrong) > len(set(wrong))
    assert len(right) == len(set(right)) > 1
