"""What is in effect is what one call of one leader wrote, whatever others wrote before, beside it or after."""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, lemma, promise, service, witness
from fencepost.model.task_counts.abstract.core import Task, Worker
from fencepost.model.task_counts.parts.writing import Call, Part, Writing


class WritingPromises(Properties, of=Writing):
    """The promises about the sets of task configurations that are in effect."""

    @promise(rule="618.P2")
    def each_part_has_one_reader(s):
        """While a set is in effect, each part of the source is read by one of its tasks: by two, and each offset would
        be there twice, by none, and it would be missing."""
        return forall(
            Part, Task, Task, lambda x, i, j: implies(s.is_read_by(x, i) & s.is_read_by(x, j), i == j)
        ) & implies(0 < s.tasks, forall(Part, lambda x: exists(Task, lambda i: s.is_read_by(x, i))))

    def is_read_by(s, x, i):
        return (i < s.tasks) & exists(Call, lambda c: (s.applied[i] == c) & (s.reader[c, x] == i))

    @service(rule="618.3")
    def in_effect_in_the_end(s, w: Worker, c: Call):
        """A call of the leader ends with its set in effect, unless it is given up or another leader takes over."""
        return leads_to(
            (s.call[w] == c) & (s.owner == w), (s.newest == c) | (s.call[w] != c) | (s.owner != w)
        )  # fmt: skip

    @lemma
    def newest_is_divided(s):
        """The set in effect was divided among as many tasks as it has."""
        return implies(
            0 < s.tasks,
            exists(Call, lambda c: (s.newest == c) & s.begun[c] & (s.size[c] == s.tasks)),
        ) & forall(Call, Part, lambda c, x: implies(s.begun[c] & (0 < s.size[c]), s.reader[c, x] < s.size[c]))

    @lemma
    def whole_sets(s):
        """Every task of the set in effect has a configuration of the call whose commit record came last."""
        return forall(Task, lambda i: implies(i < s.tasks, s.applied[i] == s.newest))

    @lemma
    def call_has_begun(s):
        """What a leader is at has begun."""
        return forall(Worker, Call, lambda w, c: implies(s.call[w] == c, s.begun[c]))

    @lemma
    def written_is_there(s):
        """While a call may still be written, every configuration it sent is open or was read last for its task."""
        return forall(
            Worker,
            Task,
            lambda w, i: implies(
                (s.owner == w) & (s.call[w] != None) & (i < s.written[w]),  # noqa: E711
                s.open[w, i] | (s.kept[i] == s.call[w]),
            ),
        )

    @witness(of="each_part_has_one_reader")
    def left_over(s):
        """A set is in effect, and one configuration of a call that was never finished has been read since."""
        return exists(Task, Call, lambda i, c: (0 < s.tasks) & (s.kept[i] == c) & s.is_nobodys(c))

    def is_nobodys(s, c):
        return forall(Worker, lambda w: s.call[w] != c)

    @witness(of="each_part_has_one_reader")
    def divided_otherwise(s):
        """Two sets of two tasks were in effect, and a part has changed its reader."""
        return exists(
            Call, Call, Part,
            lambda c, d, x: (s.newest == d) & (1 < s.tasks) & s.begun[c] & (1 < s.size[c])
            & (s.reader[c, x] != s.reader[d, x]) & s.is_nobodys(c),
        )  # fmt: skip

    @witness(of="each_part_has_one_reader")
    def two_sets(s):
        """Two calls of two leaders have set after set in effect, and a third of them is under way."""
        return exists(Worker, Call, Call, lambda w, c, d: (s.newest == c) & (s.call[w] == d) & (1 < s.tasks))
