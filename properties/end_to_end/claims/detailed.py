"""The promises of the whole, asked where its parts are the cores themselves."""

from fencepost.model.end_to_end.abstract import EndToEnd
from fencepost.model.end_to_end.detailed import Detailed
from fencepost.model.group_fencing.core import Fate, Member
from fencepost.model.language import each, exists, promise, refinement, when, witness
from fencepost.model.task_counts.abstract.core import Stage
from fencepost.properties.end_to_end.claims.abstract import Promises


class DetailedProperties(Promises, of=Detailed):
    """Each step is one of the abstract whole's, and so the promises hold."""

    def is_coming(s):
        """The marker of a committed transaction of the group is on its way, with the offset where the output ends."""
        p = s.watched
        return exists(
            Member,
            lambda m: (s.group.fate[m] == Fate.COMMITTED) & (0 < s.group.pending[m, p])
            & (s.group.pending[m, p] == s.group.done[p]),
        )  # fmt: skip

    def where_it_goes_on(s):
        return when(s.is_coming(), s.group.done[s.watched], s.group.committed[s.watched])

    @promise(rule="447.P1")
    def sink_in_step(s):
        """The sink ends where the group's committed offset is, or where a marker that is on its way says."""
        return s.copies == s.where_it_goes_on()

    @witness(of="sink_in_step")
    def behind_the_source(s):
        """The sink has a record, and its marker is on its way to the group's coordinator."""
        return (0 < s.copies) & s.is_coming()

    @refinement(
        of=EndToEnd,
        actions={
            "connect.check_after": ("connect.let_poll", "stop"), "connect.assign": ("connect.assign",),
            "commit_copies": ("copy",), "fence_late": ("fence",),
        },
    )  # fmt: skip
    def does_as_the_whole(s):
        """What the cores are to one another is what their interfaces say."""
        return {
            "connect.opened": each(lambda k: s.is_starting(k) | s.polls(k)),
            "connect.polls": each(lambda k: s.connect.stage[k] == Stage.RUNNING),
            "ids.twice": s.ids.given_twice,
            "group.end": s.group.done[s.watched],
            "group.resume": s.where_it_goes_on(),
            "group.amiss": s.group.twice | s.group.skipped,
        }
