"""How a violated property of task counts is told."""

from fencepost.properties.history.words import Words
from fencepost.properties.task_counts.history.events import SUPPORT, TASK_COUNTS

NAMES = {"support": {number: name for name, number in SUPPORT.items()}}
_WORDS = Words(TASK_COUNTS, hidden=("member", "request"), names=NAMES)

saying = _WORDS.saying
