"""Workers that start, take over or rebalance with one thing wrong each.  `broken.py` says what each of them breaks."""

from fencepost.reference_impl.task_counts.herder.group import Handed
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.requests import Request
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.tasks.threads import Script


class GenerationTakenAtTheProducer(SourceTask):
    """The set that the last look compares with is the newest one when the producer was opened, not when the task was
    configured (618.19)."""

    def open(self) -> None:
        super().open()
        self.generation = self.herder.view.state.generation(self.id[0])


class RestartDoesNotAsk(Herder):
    """A user's restart of a task goes without a round: the task had one when it was first started (618.15)."""

    restarting = False

    def restart_task(self, name: str, task: int, request: Request) -> Script:
        self.restarting = True
        yield from super().restart_task(name, task, request)
        self.restarting = False


class AsksUnlessRestarted(SourceTask):
    """What `RestartDoesNotAsk` starts."""

    def __init__(self, herder: Herder, name: str, task: int) -> None:
        super().__init__(herder, name, task)
        self.restarted = isinstance(herder, RestartDoesNotAsk) and herder.restarting

    def steps(self) -> tuple[str, ...]:
        return tuple(step for step in super().steps() if step != "ask" or not self.restarted)


class FencedLeaderNeverClaims(Herder):
    """A leader whose producer was fenced takes it that another one leads, and does not claim again (618.26)."""

    def must_claim(self) -> bool:
        return False


class NoSecondRebalance(Herder):
    """After a cooperative rebalance that has only revoked there is no other one to give that out (618.41)."""

    def take(self, handed: Handed) -> Script:
        yield from super().take(handed)
        if handed.assignment.revokes and self.wanted <= self.offset:
            self.rejoin = False
