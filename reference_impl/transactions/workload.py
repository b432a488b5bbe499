"""What applications do in a free-running history: transactions in a loop, take-overs, readers. No faults here.

Each producer slot belongs to one transactional id, several slots to the same one: the one that initialises last fences
the others, which go on until they find out. A fenced application starts anew after a while, and takes the id back.
"""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.reference_impl.simulation import Kernel
from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import LossyRun
from fencepost.reference_impl.transactions.clients.producer import Producer, State
from fencepost.reference_impl.transactions.system import System


@dataclass(frozen=True, slots=True)
class Habits(LossyRun):
    """How applications behave. Durations are means, in virtual microseconds."""

    records: Natural = 3  # per transaction, on average
    abort_share: Rate = 0.15  # transactions that the application itself wants aborted
    offsets_share: Rate = 0.3  # sends that commit a group's offset, where there are groups
    uncommitted_share: Rate = 0.1  # reads with isolation level read_uncommitted
    think_us: Natural = 5_000
    wait_us: Natural = 25_000  # until an application looks again whether what it waits for has come
    read_us: Natural = 25_000
    # After its events faults stop, what was begun is ended, and the history goes on until nothing is left to happen.
    quiet_end: bool = False
    # Until a slot's first initialisation (but one per id), and until a fenced one's next.
    take_over_us: Natural = 200_000


BETWEEN = (State.UNINITIALIZED, State.READY, State.FATAL_ERROR)
"""States of a producer that has nothing under way."""


class Workload:
    """The applications of one history, by slot, and its readers, by number."""

    __slots__ = ("habits", "is_over", "kernel", "planned", "random", "system", "txn_ids")

    def __init__(self, system: System, habits: Habits, txn_ids: int) -> None:
        self.system = system
        self.habits = habits
        self.txn_ids = txn_ids
        self.kernel: Kernel = system.env.kernel
        self.random: Callable[[], float] = self.kernel.random.random
        self.is_over = False  # nothing new is begun
        self.planned = [0] * system.env.config.clients  # records still to send in the transaction of each slot

    def first_delay_us(self, slot: int) -> int:
        """One application per id starts at once, the others want its id later."""
        return self.kernel.spread(self.habits.think_us if slot < self.txn_ids else self.habits.take_over_us)

    def act(self, slot: int) -> int:
        """The application in a slot does the next thing; how long until it looks again, in microseconds."""
        producer = self.system.producers[slot]
        assert isinstance(producer, Producer), "free-running histories are made with producers of this package"
        if producer.running and not producer.paused:
            state = producer.state
            if state is State.IN_TRANSACTION:
                self.work(producer, slot)
            elif self.is_over and state in BETWEEN:
                return self.kernel.spread(self.habits.wait_us)
            elif state is State.READY:
                producer.begin()
                self.planned[slot] = 1 + int(self.random() * 2 * self.habits.records)
                self.work(producer, slot)
            elif state is State.UNINITIALIZED:
                producer.init()
            elif state is State.ABORTABLE_ERROR:
                producer.abort()
            elif state is State.FATAL_ERROR:
                self.system.restart_client(slot)
                return self.kernel.spread(self.habits.take_over_us)
            else:
                return self.kernel.spread(self.habits.wait_us)
            return self.kernel.spread(self.habits.think_us)
        return self.kernel.spread(self.habits.wait_us)

    def work(self, producer: Producer, slot: int) -> None:
        """One more record, or the end of the transaction."""
        if self.planned[slot]:
            self.planned[slot] -= 1
            producer.send(self.some_partition())
        elif self.random() < self.habits.abort_share:
            producer.abort()
        else:
            producer.commit()

    def some_partition(self) -> int:
        """A data partition, or now and then a group's offsets partition."""
        config = self.system.env.config
        if config.groups and self.random() < self.habits.offsets_share:
            return config.partitions + int(self.random() * config.groups)
        return int(self.random() * config.partitions)

    def read(self, reader: int) -> int:
        """A reader looks at some partition; how long until it looks again, in microseconds."""
        config = self.system.env.config
        partition = int(self.random() * config.all_partitions)
        if partition >= config.partitions:
            self.system.fetch_offset(reader, partition)
        else:
            self.system.read(reader, partition, self.random() >= self.habits.uncommitted_share)
        return self.kernel.spread(self.habits.read_us)
