"""One source task of Connect: how it learns of committed offsets (SourceTask.commit), as proposed and as shipped.

Read `runtime/threads.py` first: what the task's thread and the committer do, in order. `runtime/submitted_records.py`
and `runtime/offset_writer.py` are what they share, `runtime/exactly_once.py` the same with transactions; `connector.py`
is who is told, and tells upstream. `system.py` is what a driver moves; `generator.py` runs free with a seed; `defects`
lists implementations with one thing wrong each.

Left out: several tasks of one connector, and which of them may run (`task_counts`); two offsets topics (their merge is
of another protocol); boundaries of transactions other than a batch; offsets that a user alters; pausing; topics that
must be created first.
"""

from fencepost.reference_impl.source_commits.events import COLUMNS, KIND_NAMES, Event, Kind, readable
from fencepost.reference_impl.source_commits.generator import simulate, simulate_with_stats
from fencepost.reference_impl.source_commits.system import System, reference

__all__ = [
    "COLUMNS",
    "KIND_NAMES",
    "Event",
    "Kind",
    "System",
    "readable",
    "reference",
    "simulate",
    "simulate_with_stats",
]
