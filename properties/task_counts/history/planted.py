"""Histories of task counts with planted violations, in mode B; `plants` says what is edited, and what must be found."""

from fencepost.properties.planting.beds import Bed
from fencepost.properties.task_counts.history.events import TASK_COUNTS
from fencepost.properties.task_counts.history.plants import PLANTS

EXAMPLE = "fencepost.reference_impl.task_counts.everything:rows"
BED = Bed(TASK_COUNTS, EXAMPLE, PLANTS, {"mode": "B"})
simulate_many = BED.simulate_many
