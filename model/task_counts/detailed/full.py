"""The full model has the granularity of the yardstick and has what all forms of the proposal share, with nothing
switched on.

Actions and variables are the yardstick's (`kip618_yardstick.py`), with two differences. What the yardstick stores for
each worker and task is stored here for each instance, as in the core (`worker`, `task` and `of` name its worker, its
task and its set; `live` is the set of instances whose producer is not fenced). There also is the ghost `polled`. As in
the yardstick, a set has at least one task; in models built on the same parts it may be empty. Assignment is free: every
rebalance, eager or cooperative, and every duplicate instance is some order of `assign` and `stop`. A worker that stalls
takes no step for any length of time; a crash is a stop of each of its tasks.

The models built on the same parts are `cluster.py` (faults with budgets, workers that clean up), `asking.py` (B and
shipped), `own_view.py` (A and M), `attending.py` (tasks that stay FAILED), `rebalancing.py` (eager and cooperative),
and on that `claiming.py` and `lingering.py` (further behaviour of Kafka).
"""

from fencepost.model.language import action, open_hole, require
from fencepost.model.task_counts.abstract.core import Count, Worker
from fencepost.model.task_counts.detailed.workers import Workers


class Full(Workers):
    """Leaders write sets and counts and fence producers in between, and workers start tasks by what they have read."""

    no_tasks = None
    outside = open_hole("the yardstick's sets have a task at least: shipped, A, B and M have empty ones", "empty-set")

    @action
    def reconfigure(s, w: Worker, n: Count):
        require(0 < n)
        Workers.reconfigure(s, w, n)
