"""Leaders, true and former: the transactional producer of the newest one shuts out all others (618.24).

Epochs on the config topic are reduced to who holds the newest, `owner`.
"""

from fencepost.model.language import (
    Bool,
    Map,
    Option,
    action,
    append,
    danger,
    either,
    exists,
    length,
    require,
)
from fencepost.model.task_counts.abstract.core import Count, Round, Worker
from fencepost.model.task_counts.detailed.topic import Topic


class Leadership(Topic):
    """Who writes to the config topic."""

    owner: Option[Worker]  # whose producer has the newest epoch on the config topic
    leads: Map[Worker, Bool]  # believes to be the leader, perhaps wrongly
    round: Map[Worker, Round]

    def may_write(s, w):
        return either("618.24", s.owner == w, anyone=True)

    @action
    def elect(s, w: Worker):
        """A worker becomes leader, or a leader claims the topic back; its one thread cannot do so between check and
        write."""
        require((s.owner != w) & s.is_awake(w))
        require(either("618.43", s.thread_is_free(w), reclaims_in_between=True))
        s.owner = w
        s.leads[w] = True

    @action(fair="weak")
    def depose(s, w: Worker):
        """A former leader learns that it is none."""
        require(s.leads[w] & (s.owner != w) & s.is_awake(w))
        s.leads[w] = False
        s.end_round(w)
        s.fail_those_who_asked(w, True)

    @action
    def reconfigure(s, w: Worker, n: Count):
        """The leader publishes a new set of n task configurations, perhaps of none, for itself or for a follower that
        asked it to."""
        require(s.thread_is_free(w) & s.is_awake(w))
        require(either("618.34", s.leads[w] & s.may_write(w), anybody=s.thread_is_free(w)))
        s.read[w] = length(s.log) + 1
        append(s.log, n)

    @danger("leader-in-a-call")
    def deposed_in_a_round(s):
        """A leader whose producer is fenced from the topic has a round under way."""
        return exists(Worker, lambda w: s.leads[w] & (s.owner != w) & (s.round[w] != Round.NONE))

    def thread_is_free(s, w):
        """It looks at the generation and writes the count without doing anything in between."""
        return s.round[w] != Round.CHECKED

    def end_round(s, w):
        """Whatever round the worker has under way is over."""
        s.round[w] = Round.NONE

    def fail_those_who_asked(s, w, so):
        """What comes of a round that fails is for the variants to say."""
