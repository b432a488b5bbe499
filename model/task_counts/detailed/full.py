"""The full model at the yardstick's granularity: what all forms of the proposal share, with nothing switched on.

Actions and variables are the yardstick's (`kip618_yardstick.py`), with two differences: what it keeps for each worker
and task is kept here for each instance, as in the core (`worker`, `task` and `of` say whose, which, and of which set;
`live` is the set of those whose producer is not fenced), and there is the ghost `polled`.  As there, a set has a
task at least; in what is built on the same parts it may be empty.
Assignment is free: every rebalance, eager or cooperative, and every duplicate instance is some order of `assign` and
`stop`.  A worker that stalls takes no step for as long as it likes; a crash is a stop of each of its tasks.

What is built on it: `cluster.py` (faults with budgets, workers that tidy up), `asking.py` (B and shipped),
`own_view.py` (A and M), `attending.py` (tasks that stay FAILED), `rebalancing.py` (eager and cooperative), and on that
`claiming.py` and `lingering.py` (what Kafka does besides).
"""

from fencepost.model.language import action, open_hole, require
from fencepost.model.task_counts.abstract.core import Count, Worker
from fencepost.model.task_counts.detailed.workers import Workers


class Full(Workers):
    """Leaders write sets and counts, fence producers in between, and workers start tasks by what they read."""

    no_tasks = None
    outside = open_hole("the yardstick's sets have a task at least: shipped, A, B and M have empty ones", "empty-set")

    @action
    def reconfigure(s, w: Worker, n: Count):
        require(0 < n)
        Workers.reconfigure(s, w, n)
