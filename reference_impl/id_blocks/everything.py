"""One history of a KRaft cluster in which nothing goes wrong: brokers take blocks in turn and hand out all of them."""

from fencepost.reference_impl.id_blocks.system import System, reference
from fencepost.reference_impl.simulation.log import Row


def rows(brokers: int = 3, rounds: int = 2, size: int = 40) -> list[Row]:
    """Its rows, in the order of the event log's columns. Every broker hands out `rounds` blocks of `size` ids."""
    system = reference({"brokers": brokers, "block_size": size, "prefetch": 0, "controllers": 1})
    for _ in range(rounds):
        for broker in range(brokers):
            take_block(system, broker)
        for _ in range(size):
            for broker in range(brokers):
                error, _ = system.init_producer_id(broker)
                assert error == 0, f"broker {broker} has used up its block before its end: error {error}"
    return system.env.log.rows


def take_block(system: System, broker: int) -> None:
    """A broker without ids is asked for one, refuses, and gets a block."""
    system.init_producer_id(broker)
    system.deliver(system.messages()[0][0])
    system.commit()
    system.deliver(system.messages()[0][0])
