"""What tests of the id blocks' reference do again and again: a block is fetched, and everything is delivered."""

from typing import Any


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
