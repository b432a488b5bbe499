"""Node faults of a free-running history of transactions: how often they strike, how long they last, what they do."""

from dataclasses import dataclass

from fencepost.reference_impl.simulation.config import Natural, Positive, Rate
from fencepost.reference_impl.simulation.free_run import NodeFaults
from fencepost.reference_impl.transactions.clients.producer import Producer
from fencepost.reference_impl.transactions.system import System
from fencepost.reference_impl.transactions.workload import Habits


@dataclass(frozen=True, slots=True)
class Run(Habits):
    """Rates of faults, and the pace of brokers. Durations are means, in virtual microseconds."""

    txn_ids: Positive = 2  # transactional ids; slot s has the id s modulo this number
    readers: Natural = 1
    drop: Rate = 0.01
    duplicate: Rate = 0.02
    delay: Rate = 0.03
    append_failure: Rate = 0.01  # per append to the transaction log
    restart: Rate = 0.008  # per step: a producer crashes, and its successor is there after `down_us`
    pause: Rate = 0.02  # per step: a producer stands still for `pause_us`, and may be a zombie when it goes on
    fail_over: Rate = 0.012  # per step: another coordinator takes over
    new_leader: Rate = 0.012  # per step: another leader for some partition
    fence: Rate = 0.006  # per step: an administrator fences some transactional id
    append_us: Natural = 1_500
    load_us: Natural = 5_000
    delay_us: Natural = 100_000
    down_us: Natural = 50_000
    pause_us: Natural = 300_000


class Faults(NodeFaults[Run, System]):
    """The node faults of one history; the place is taken modulo what there is."""

    names = ("restart", "pause", "fail_over", "new_leader", "fence")

    def restart(self, number: int) -> bool:
        slot = number % self.system.env.config.clients
        producer = self.system.producers[slot]
        if not (isinstance(producer, Producer) and producer.running):
            return False
        producer.crash()
        self.kernel.after(self.kernel.spread(self.run.down_us), self.start, slot)
        return True

    def start(self, slot: int) -> None:
        self.system.restart_client(slot)

    def pause(self, number: int) -> bool:
        producer = self.system.producers[number % self.system.env.config.clients]
        if not isinstance(producer, Producer) or producer.paused or not producer.running:
            return False
        producer.pause()
        self.kernel.after(self.kernel.spread(self.run.pause_us), self.resume, producer)
        return True

    def resume(self, producer: Producer) -> None:
        producer.resume()

    def fail_over(self, number: int) -> bool:
        self.system.fail_over(durable=bool(number & 1))
        return True

    def new_leader(self, number: int) -> bool:
        self.system.change_leader(number % self.system.env.config.all_partitions)
        return True

    def fence(self, number: int) -> bool:
        """As the plug's fence(), which knows one transactional id only."""
        system = self.system
        admin = system.parts.admin(system.env, system.admins)
        system.env.network.nodes[admin.name] = admin
        system.admins += 1
        return admin.fence(number % self.run.txn_ids)
