"""What is in effect is what one call of one leader wrote, whoever else wrote before, beside it or after."""

from fencepost.model.language import Properties, exists, forall, implies, lemma, promise, witness
from fencepost.model.task_counts.core import Task, Worker
from fencepost.model.task_counts.writing import Call, Writing


class WritingPromises(Properties, of=Writing):
    """Of the sets in effect."""

    @promise(rule="618.3")
    def whole_sets(s):
        """Every task of the set in effect has a configuration of the call whose commit record came last."""
        return forall(Task, lambda i: implies(i < s.tasks, s.applied[i] == s.newest))

    @lemma
    def call_has_begun(s):
        """What a leader is at has begun."""
        return forall(Worker, Call, lambda w, c: implies(s.call[w] == c, s.begun[c]))

    @lemma
    def written_is_there(s):
        """Of the call that may still be written, every configuration sent is open or was read last for its task."""
        return forall(
            Worker,
            Task,
            lambda w, i: implies(
                (s.owner == w) & (s.call[w] != None) & (i < s.written[w]),  # noqa: E711
                s.open[w, i] | (s.kept[i] == s.call[w]),
            ),
        )

    @witness(of="whole_sets")
    def left_over(s):
        """A set is in effect, and one configuration of a call that was never finished has been read since."""
        return exists(Task, Call, lambda i, c: (0 < s.tasks) & (s.kept[i] == c) & s.is_nobodys(c))

    def is_nobodys(s, c):
        return forall(Worker, lambda w: s.call[w] != c)

    @witness(of="whole_sets")
    def two_sets(s):
        """Two calls of two leaders have set after set in effect, and a third of them is under way."""
        return exists(Worker, Call, Call, lambda w, c, d: (s.newest == c) & (s.call[w] == d) & (1 < s.tasks))
