"""What a source task may rely on when it is told of committed offsets, and whoever reads what it produces."""

from fencepost.model.language import Properties, exists, forall, implies, leads_to, promise, service, step, witness
from fencepost.model.source_commits.at_least_once import Life, Offset, Partition, Place, Stage, Thread


class Promises(Properties):
    """The promises of a task of the at-least-once runtime."""

    @promise(rule="src.P1")
    def told_is_stored(s):
        """What a task was told is in the offsets topic, so that no restart resumes from before it."""
        return forall(Partition, lambda p: s.told[p] <= s.stored[p])

    @promise(rule="src.P1")
    def told_only_grows(s):
        """What tasks are told of a source partition never goes back, over restarts too."""
        return forall(Partition, lambda p: s.told[p] == s.told_most[p])

    @step(rule="src.P1")
    def stored_only_grows(old, new):
        """What a restart resumes from never goes back."""
        return forall(Partition, lambda p: old.stored[p] <= new.stored[p])

    @promise(rule="src.5")
    def told_is_the_latest(s):
        """Where no commit is under way and nothing waits for one, the task was told of all that its instance has
        committed."""
        return forall(
            Partition,
            lambda p: implies(
                (s.life == Life.RUNNING) & s.is_quiet(p), (s.told[p] == s.stored[p]) | (s.stored[p] == s.resumed[p])
            ),
        )  # fmt: skip

    def is_quiet(s, p):
        """No offset of this partition is with the writer, in a flush, or on its way, and no thread is about to tell the
        task something."""
        nothing = (s.data[p] == 0) & (s.flushing[p] == 0) & forall(Offset, lambda v: ~s.sent[p, v])
        return nothing & forall(Thread, lambda t: s.stage[t] != Stage.WRITTEN)

    @promise(rule="src.P2")
    def nothing_skipped(s):
        """Each record that a restart leaves out, as its offset is committed, was delivered, filtered, or failed where
        that is tolerated."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.stored[p]), s.done[p, i]))

    @promise(rule="src.P2")
    def nothing_lost_upstream(s):
        """And so was each record that the upstream system has discarded."""
        return forall(Partition, Offset, lambda p, i: implies((0 < i) & (i <= s.released[p]), s.done[p, i]))

    @promise(rule="src.8")
    def kept_for_a_restart(s):
        """The upstream system has what a restart would resume with."""
        return forall(Partition, lambda p: s.released[p] <= s.stored[p])

    @promise(rule="src.P3")
    def clean_end_covers_all(s):
        """Of an instance that has ended well nothing is left over: what it has submitted is committed."""
        return forall(Partition, Offset, lambda p, i: implies(s.clean & s.own[p, i], i <= s.stored[p]))

    @service(rule="src.P3")
    def leaves_the_queue(s, p: Partition, i: Offset):
        """Each record leaves the queue in the end, while the instance runs."""
        here = (s.place[p, i] != Place.AWAY) & (s.life == Life.RUNNING)
        return leads_to(here, (s.place[p, i] == Place.AWAY) | (s.life != Life.RUNNING))

    @service(rule="src.P3")
    def is_told_in_the_end(s, p: Partition, i: Offset):
        """An acknowledged record that nothing is before is covered by what the task is told in the end, while the
        instance runs."""
        ready = (s.life == Life.RUNNING) & (s.place[p, i] == Place.ACKED) & s.is_prefix(p, i)
        return leads_to(ready, (i <= s.told[p]) | (s.life != Life.RUNNING))

    @service(rule="src.P3")
    def comes_to_an_end(s):
        """An instance that is asked to stop is over in the end."""
        return leads_to(s.life == Life.STOPPING, (s.life == Life.OVER) | (s.life == Life.GONE))

    @service(rule="src.P4")
    def is_stored_in_the_end(s, p: Partition, i: Offset):
        """A record that was submitted, and not refused, is covered by what a restart would resume from in the end,
        while the instance runs and none has failed."""
        its_own = (s.life == Life.RUNNING) & s.own[p, i]
        return leads_to(its_own, (i <= s.stored[p]) | ~its_own | s.fails)

    @witness(of="told_is_stored")
    def told_after_another(s):
        """An instance is told, after a restart, while a newer flush is under way."""
        return exists(
            Partition, lambda p: (0 < s.resumed[p]) & (s.resumed[p] < s.told[p])
        )  # fmt: skip

    @witness(of="told_only_grows")
    def told_again(s):
        """A task was told before of a partition, and a newer flush of it has succeeded."""
        return exists(
            Partition, Thread,
            lambda p, t: (s.stage[t] == Stage.WRITTEN) & (0 < s.told[p]) & (s.told[p] < s.flushing[p]),
        )  # fmt: skip

    @witness(of="stored_only_grows")
    def old_write_on_its_way(s):
        """A write of a cancelled flush is on its way, and so is a newer one."""
        return exists(Partition, Offset, Offset, lambda p, v, w: (v < w) & s.sent[p, v] & s.sent[p, w])

    @witness(of="told_is_the_latest")
    def told_by_the_second(s):
        """The first flush of a partition was cancelled, and its write is in the topic all the same."""
        return exists(Partition, lambda p: (s.resumed[p] < s.stored[p]) & (0 < s.data[p]) & (s.told[p] == 0))

    @witness(of="nothing_skipped")
    def restarts_with_a_gap(s):
        """A later record of an instance was acknowledged before an earlier one; an instance before it had committed."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & (s.place[p, i] == Place.WAITING) & (s.place[p, j] == Place.ACKED)
            & (0 < s.stored[p]),
        )  # fmt: skip

    @witness(of="nothing_lost_upstream")
    def discarded(s):
        """The upstream system has discarded a record, and the next one is in flight."""
        return exists(Partition, Offset, lambda p, i: (0 < s.released[p]) & (s.place[p, i] == Place.WAITING))

    @witness(of="kept_for_a_restart")
    def discards_late(s):
        """The instance is over whose task was told, and the upstream system has not heard of it yet."""
        return exists(Partition, lambda p: (s.released[p] < s.told[p]) & (s.life == Life.GONE))

    @witness(of="clean_end_covers_all")
    def ends_well(s):
        """An instance has ended well that submitted something."""
        return s.clean & exists(Partition, Offset, lambda p, i: s.own[p, i])

    @witness(of="leaves_the_queue")
    def waits_behind(s):
        """A record is acknowledged behind one that is not."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (i < j) & (s.place[p, i] == Place.WAITING) & (s.place[p, j] == Place.ACKED),
        )  # fmt: skip

    @witness(of="is_told_in_the_end")
    def merged_back(s):
        """A flush was cancelled, and something newer is collected."""
        return exists(Partition, lambda p: (0 < s.data[p]) & (s.data[p] < s.merged[p]))

    @witness(of="is_stored_in_the_end")
    def behind_another(s):
        """A record waits behind one that is not acknowledged, after a restart."""
        return exists(
            Partition, Offset, Offset,
            lambda p, i, j: (0 < s.resumed[p]) & (i < j) & (s.place[p, i] == Place.WAITING) & s.own[p, j],
        )  # fmt: skip

    @witness(of="comes_to_an_end")
    def stops_in_a_flush(s):
        """An instance is asked to stop while a flush is under way."""
        return (s.life == Life.STOPPING) & exists(Thread, lambda t: s.stage[t] == Stage.FLUSHING)
