"""The promises, asked of runtimes whose threads are not ordered, and of what comes late or from elsewhere."""

from fencepost.model.source_commits.left_behind import Altered, ClosedProducer, LateCopy, LateWrite, Zombie
from fencepost.model.source_commits.two_threads import SnapshotOnly, TakenAndPutApart, ToldByTwoThreads
from fencepost.properties.source_commits.claims.promises import Promises


class ToldByTwoThreadsPromises(Promises, of=ToldByTwoThreads):
    """Where a thread tells the task when another one flushes already."""


class TakenAndPutApartPromises(Promises, of=TakenAndPutApart):
    """Where an older offset may be put over a newer one."""


class SnapshotOnlyPromises(Promises, of=SnapshotOnly):
    """Where the task is told of what its thread took."""


class ZombiePromises(Promises, of=Zombie):
    """Where an instance is left behind."""


class LateWritePromises(Promises, of=LateWrite):
    """Where a write outlives its instance."""


class LateCopyPromises(Promises, of=LateCopy):
    """Where a write arrives again."""


class AlteredPromises(Promises, of=Altered):
    """Where an operator takes offsets back."""


class ClosedProducerPromises(Promises, of=ClosedProducer):
    """Where a worker fails its own records."""
