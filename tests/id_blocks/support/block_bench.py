"""Helpers of the id blocks' reference tests fetch a block and deliver everything."""

from typing import Any


def settle(system: Any) -> None:
    """Deliver, commit and step ZooKeeper for the controller until nothing moves."""
    while system.messages() or system.zk_step(-1):
        deliver_all(system)
        system.commit()


def deliver_all(system: Any) -> None:
    """Deliver all messages, oldest first, with those that they cause."""
    while flying := system.messages():
        system.deliver(flying[0][0])


def fetch_block(system: Any, broker: int) -> None:
    """Let a client's demand bring one block to `broker`, without any fault."""
    system.init_producer_id(broker)
    settle(system)
