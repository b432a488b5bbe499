"""Which offsets topics a source task has (618.29): what offsets.storage.topic names, on the cluster that its producer
targets; without that, and with exactly-once support, a topic of the worker's name there, which is the worker's own only
if the cluster is.  Without support, what is not named is not used: the worker's topic is. Software from before has no
other. (Worker.offsetStoreForExactlyOnceSourceTask, offsetStoreForRegularSourceTask)
"""

from typing import NamedTuple

from fencepost.reference_impl.source_offsets.config import EXACTLY_ONCE, OLDER_SOFTWARE
from fencepost.reference_impl.source_offsets.kafka import GLOBAL, SEPARATE

WORKERS = "connect-offsets"
"""The worker's offset.storage.topic."""


class Choice(NamedTuple):
    """The topic that is written to and read first, and whether the worker's is read, and has copies, beside it."""

    primary: int
    worker_beside: bool


def chosen(named: str, same_cluster: bool, runtime: int) -> Choice:
    """``named``: offsets.storage.topic of the connector, empty for none; ``same_cluster``: its producer targets the
    cluster of the worker."""
    if runtime == OLDER_SOFTWARE or (runtime != EXACTLY_ONCE and not named):
        return Choice(GLOBAL, False)
    if (named or WORKERS) == WORKERS and same_cluster:
        return Choice(GLOBAL, False)
    return Choice(SEPARATE, True)
