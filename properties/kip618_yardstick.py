"""This module has the promises of the KIP-618 yardstick, with the four mistakes that are known to break it."""

from collections.abc import Mapping

from fencepost.model.kip618_yardstick import Kip618Yardstick, Position, Stage, Task, Worker
from fencepost.model.language import Properties, at, exists, forall, implies, length, promise, witness
from fencepost.model.releases import MISTAKE, TEXT
from fencepost.properties.entries import Profile, ProtocolEntry, Variant, Wider


class Kip618YardstickProperties(Properties, of=Kip618Yardstick):
    """The yardstick promises which tasks can commit, and which set each count covers."""

    @promise(
        rule="618.P1",
        broken="task {i} on {v} and task {j} on {w} are able to commit, and are of different generations",
    )
    def no_zombie(s):
        """All tasks that are able to commit are of one generation."""
        return forall(
            Worker, Worker, Task, Task,
            lambda v, w, i, j: implies(s.effective(v, i) & s.effective(w, j), s.generation[v, i] == s.generation[w, j]),
        )  # fmt: skip

    @promise(rule="618.P3", broken="the count at {k} of the config topic is not the size of the set before it")
    def counts_match(s):
        """Each count is of the set that it stands after, so it covers every producer of that generation."""

        def matches(k):
            newest = s.latest_set(k)
            return implies(
                (k <= length(s.log)) & (at(s.log, k) >= s.tasks), (newest > 0) & (s.size(newest) == s.size(k))
            )

        return forall(Position, matches)

    @witness(of="no_zombie")
    def a_zombie_shut_out(s):
        """A task of an earlier generation still runs, unable to commit, in addition to one that can. This needs a
        config topic of 4 records."""
        return exists(
            Worker, Worker, Task, Task,
            lambda v, w, i, j: (s.stage[v, i] == Stage.RUNNING)
            & s.effective(w, j)
            & (s.generation[v, i] < s.generation[w, j]),
        )  # fmt: skip

    @witness(of="counts_match")
    def a_second_count(s):
        """Two counts stand in the topic, each after a set of its own."""
        return exists(
            Position,
            Position,
            lambda j, k: (j < k) & (k <= length(s.log)) & (at(s.log, j) >= s.tasks) & (at(s.log, k) >= s.tasks),
        )


_SMALL = {"workers": 2, "tasks": 1, "log": 4}
_FULL = {"workers": 2, "tasks": 2, "log": 4}
_BOUNDS: Mapping[Profile, Mapping[str, int]] = {"smoke": _SMALL, "ci": _FULL, "nightly": dict(_FULL, log=5)}
_THIRD: Mapping[str, Mapping[str, int]] = {"a third worker": dict(workers=3, tasks=1)}
_WIDER: Wider = {"ci": _THIRD, "nightly": _THIRD}
"""With two tasks there are more than a hundred million states, even up to names."""
_MUTANT: Mapping[Profile, Mapping[str, int]] = {"smoke": _FULL}


def _mistake(name: str, rule: str, alternative: str, breaks: tuple[str, ...], says: str) -> Variant:
    return Variant(
        name, Kip618YardstickProperties, says, rule, (rule, alternative), dict.fromkeys(breaks, "violated"), _MUTANT,
        of=MISTAKE,
    )  # fmt: skip


YARDSTICK = ProtocolEntry(
    "kip618-yardstick",
    "The order of sets and counts of one connector, small enough to be counted: fencing, leadership and task start.",
    (
        Variant(
            "yardstick",
            Kip618YardstickProperties,
            "As the proposal has it.",
            bounds=_BOUNDS,
            wider=_WIDER,
            proof=False,
            of=TEXT,
        ),
        _mistake(
            "any-writer",
            "618.24",
            "anyone",
            ("counts_match", "no_zombie"),
            "A former leader can still write to the config topic.",
        ),
        _mistake(
            "reclaim",
            "618.43",
            "reclaims_in_between",
            ("counts_match", "no_zombie"),
            "The leader claims the topic back between check and write.",
        ),
        _mistake(
            "no-check-after",
            "618.19",
            "unchecked",
            ("no_zombie",),
            "A task starts without reading once more after its producer opened.",
        ),
        _mistake(
            "fence-new-count",
            "618.6",
            "as_many_as_the_new_set",
            ("no_zombie",),
            "As many ids are fenced as the new set has tasks.",
        ),
    ),
    {
        "workers": "a former leader and its successor, or a zombie task's worker and the new one's; a third (ci and "
        "nightly) is a second successor",
        "tasks": "two, so that the number of tasks can shrink and grow; with one task fencing is always skipped",
        "log": "set, count, set, count: the shortest topic in which old tasks run, are fenced, and new ones run",
    },
    verified=False,
)
