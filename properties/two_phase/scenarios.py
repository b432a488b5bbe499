"""This module has what a driver of two-phase commit does in one piece, because single calls alone seldom get so far."""

from fencepost.properties.two_phase.interface import Partition, Slot, System


def settle(system: System) -> None:
    """Deliver everything, and let every append succeed, without time passing."""
    while True:
        messages = system.messages()
        if messages:
            system.deliver(messages[0][0])
        if not (system.log_append() or messages):
            return


def start(system: System, slot: Slot) -> None:
    """Let a new instance be initialised, and complete what it finds as the store has it."""
    system.restart_client(slot)
    system.init(slot)
    settle(system)
    system.read_store(slot)
    system.complete(slot)
    settle(system)


def transact(system: System, slot: Slot, partition: Partition) -> None:
    """Let an instance write a record in a new transaction, and prepare it."""
    system.begin(slot)
    system.send(slot, partition)
    settle(system)
    system.prepare(slot)


HELPERS = (settle, start, transact)
