"""A leader's round: fence as many ids as the latest count says, look again, write the count of the new set.

The ids are fenced one after another from the highest; nothing depends on their order.
"""

from fencepost.model.language import (
    Map,
    Set,
    action,
    append,
    danger,
    each,
    either,
    exists,
    fault,
    length,
    require,
    rule,
    when,
)
from fencepost.model.task_counts.abstract.core import Count, Instance, Round, Task, Worker
from fencepost.model.task_counts.detailed.leadership import Leadership
from fencepost.model.task_counts.detailed.topic import Position


class Rounds(Leadership):
    """One round at a time for each worker that believes itself the leader."""

    fencing: Map[Worker, Position]  # the generation for which the round is
    left: Map[Worker, Count]  # task ids below this one are still to be fenced
    task: Map[Instance, Task]
    live: Set[Instance]  # its producer was opened, and nobody has fenced it since

    @danger("several-tasks")
    def several_to_fence(s):
        """A round has several ids to fence."""
        return exists(Worker, lambda w: s.left[w] > 1)

    @danger("several-ids")
    def several_producers(s):
        """Tasks of several ids can commit."""
        return exists(Instance, Instance, lambda j, k: s.live[j] & s.live[k] & (s.task[j] != s.task[k]))

    def end_round(s, w):
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.left[w] = 0

    @action(fair="weak")
    def start_round(s, w: Worker):
        """The leader reads to the end; a set after the latest count needs a round."""
        newest, counted = s.latest_set(), s.latest_count()
        require(s.leads[w] & (s.round[w] == Round.NONE) & s.is_awake(w))
        require(counted < newest, rule="618.4")
        left = s.to_fence(s.size(newest))
        s.read[w] = length(s.log)
        s.fencing[w] = newest
        s.round[w] = when(s.needs_no_fencing(s.size(newest)), Round.CHECKED, Round.FENCING)
        s.left[w] = left

    def needs_no_fencing(s, new):
        """No count record yet; or one task takes the place of one, and shuts it out."""
        old = s.count()
        return (s.latest_count() == 0) | either(
            "618.5", (old == 1) & (new == 1),
            the_new_is_one=new == 1, the_old_is_one=old == 1, they_are_equal=old == new,
            at_most_one_each=(old <= 1) & (new <= 1),
        )  # fmt: skip

    def to_fence(s, new):
        """As many ids as the latest count says, if any needs fencing."""
        old = s.count()
        ids = either("618.6", old, as_many_as_the_new_set=new, one_less=old - 1)
        return when(s.needs_no_fencing(new), 0, either("618.7", ids, none_at_all=0))

    @action(fair="weak")
    def fence(s, w: Worker):
        """The coordinator raises the epoch of one transactional id; who held it can't commit any more (618.12)."""
        require((s.round[w] == Round.FENCING) & (s.left[w] > 0) & s.is_awake(w))
        with rule("618.12"):
            s.live = each(lambda k: s.live[k] & (s.task[k] + 1 != s.left[w]))
        s.left[w] = s.left[w] - 1

    @fault(budget="failures", danger=("late-copy", "duplicate"))
    def fence_late(s, i: Task):
        """A request to fence that was given up for lost arrives after all, and may meet a task of the newest set."""
        require(exists(Instance, lambda k: s.live[k] & (s.task[k] == i)))
        s.live = each(lambda k: s.live[k] & (s.task[k] != i))

    @action(fair="weak")
    def check_round(s, w: Worker):
        """All are fenced: the leader reads to the end, and gives up if there is a newer set."""
        require((s.round[w] == Round.FENCING) & s.is_awake(w))
        require(s.left[w] == 0, rule="618.7")
        newest = either(
            "618.43", s.latest_set() == s.fencing[w],
            generations_not_compared=True, by_what_it_has_read=s.latest_set(s.read[w]) == s.fencing[w],
        )  # fmt: skip
        s.read[w] = length(s.log)
        s.round[w] = when(newest, Round.CHECKED, Round.NONE)
        s.fencing[w] = when(newest, s.fencing[w], 0)
        s.left[w] = 0
        s.fail_those_who_asked(w, ~newest)

    @action(fair="weak")
    def write_count(s, w: Worker):
        """The count of the set that the round was for."""
        require((s.round[w] == Round.CHECKED) & s.may_write(w) & s.is_awake(w))
        old = s.count()
        new = s.size(s.fencing[w])
        count = either("618.42", new, of_the_set_before=when(old == 0, new, old))
        s.read[w] = length(s.log) + 1
        append(s.log, s.tasks + 1 + count)
        s.round[w] = Round.NONE
        s.fencing[w] = 0

    @action(fair="weak")
    def write_refused(s, w: Worker):
        """Another worker's producer has a newer epoch on the topic."""
        require((s.round[w] == Round.CHECKED) & ~s.may_write(w) & s.is_awake(w))
        s.round[w] = Round.NONE
        s.fencing[w] = 0
        s.fail_those_who_asked(w, True)

    @fault(budget="failures", danger=("loss", "lost-answer", "time-out"))
    def fence_fails(s, w: Worker):
        """One id can't be fenced, and so the round fails; what was fenced stays fenced."""
        require((s.round[w] == Round.FENCING) & (s.left[w] > 0))
        fails = either("618.7", s.left[w] > 0, some_are_enough=False)
        s.round[w] = when(fails, Round.NONE, s.round[w])
        s.fencing[w] = when(fails, 0, s.fencing[w])
        s.left[w] = when(fails, 0, s.left[w] - 1)
        s.fail_those_who_asked(w, fails)
