"""The full model at the yardstick's granularity: what all forms of the proposal share, with nothing switched on.

Actions and variables are the yardstick's (`kip618_yardstick.py`), with the ghost `polled`.  Assignment is free here:
every rebalance, eager or cooperative, and every duplicate instance is some order of `assign` and `stop`.  A worker that
stalls takes no step for as long as it likes; a crash is a stop of each of its tasks.
"""

from .starting import Starting


class Full(Starting):
    """Leaders write sets and counts, fence producers in between, and workers start tasks by what they read."""
