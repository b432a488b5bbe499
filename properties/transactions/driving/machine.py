"""The machine: Hypothesis drives any implementation of transactions through the plug.

Single steps reach anything in time.  The bursts of `maneuvers` are aimed where the mistakes are: two producers with one
id, late copies, time-outs that race a commit, appends that fail in a fence, the end of the epochs.  What comes of it is
not judged here: every call goes to a `Watcher`.  At the end of an example the cluster settles, everything is read, and
a new producer tries whether all is well.
"""

from collections.abc import Mapping
from typing import Any

from fencepost.properties.transactions.driving.maneuvers import Maneuvers
from fencepost.properties.transactions.driving.stories import Stories, partitions, slots
from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

LATE = ("produce", "marker", "add", "init")
ANSWERS = ("marker_answer", "end_answer", "marker_answer", "add_answer", "produce_answer")
WAITS_MS = (100, 10_000, 30_000, 75_000)


def sizes(mode: str) -> st.SearchStrategy[tuple[dict[str, Any], bool, bool]]:
    """Small clusters; is one client alone, and may copies come late?  Late copies break v1 by design, and hide there
    what else is wrong: so half of its examples have none."""

    def config(
        lone: bool, late: bool, clients: int, count: int, groups: int, last: int
    ) -> tuple[dict[str, Any], bool, bool]:
        size = {"clients": 1 if lone else clients, "partitions": count, "groups": groups, "max_epoch": last}
        return {"seed": 0, "mode": mode, **size}, lone, late or mode == "v2"

    counts = st.integers(1, 2)
    return st.builds(
        config, st.booleans(), st.booleans(), st.integers(2, 3), counts,
        st.sampled_from((0, 0, 1)), st.sampled_from((32767, 32767, 3, 5)),
    )  # fmt: skip


class Driven(Stories):
    """A cluster that does nothing by itself."""

    MOST_FENCES = 3

    @rule(ok=st.sampled_from((True, True, False)))
    def append_to_the_log(self, ok: bool) -> None:
        self.call("log_append", value=int(ok))

    @rule(durable=st.booleans())
    def fail_over(self, durable: bool) -> None:
        self.call("fail_over", value=int(durable))

    @rule(partition=partitions)
    def leader_changes(self, partition: int) -> None:
        self.call("change_leader", partition=self.partition(partition))

    @rule(ms=st.sampled_from(WAITS_MS))
    def wait(self, ms: int) -> None:
        self.call("advance", value=ms)

    @precondition(lambda self: self.late)
    @rule(
        slot=slots, partition=partitions, kind=st.sampled_from(LATE),
        commits=st.tuples(st.booleans(), st.booleans()), moment=st.integers(0, 4),
    )  # fmt: skip
    def late_copy(self, slot: int, partition: int, kind: str, commits: tuple[bool, bool], moment: int) -> None:
        """A copy arrives when the next transaction has begun."""
        self.copy_in_next(slot, partition, kind, commits, moment)

    @precondition(lambda self: self.late)
    @rule(slot=slots, partition=partitions, kind=st.sampled_from(ANSWERS), moment=st.sampled_from((4, 4, 1)))
    def late_answer(self, slot: int, partition: int, kind: str, moment: int) -> None:
        """An answer to a request of one transaction is taken for one of the next."""
        self.copy_in_next(slot, partition, kind, (True, moment > 1), moment)

    @rule(slot=slots, partition=partitions, order=st.integers(0, 3))
    def commit_races_time_out(self, slot: int, partition: int, order: int) -> None:
        self.race_time_out(slot, partition, order)

    @precondition(lambda self: not self.lone)
    @rule(slot=slots, partition=partitions, failures=st.integers(1, 2), by_admin=st.booleans())
    def append_fails_in_a_fence(self, slot: int, partition: int, failures: int, by_admin: bool) -> None:
        self.fail_in_fence(slot, partition, failures, by_admin)

    @rule(slot=slots, partition=partitions, commit=st.booleans(), disturbed=st.integers(0, 3), time_out=st.booleans())
    def use_up_the_epochs(self, slot: int, partition: int, commit: bool, disturbed: int, time_out: bool) -> None:
        self.use_up_epochs(slot, partition, commit, disturbed, time_out)

    @rule(slot=slots, partition=partitions, again=st.integers(0, 2))
    def verification_overtaken(self, slot: int, partition: int, again: int) -> None:
        self.overtake_verification(slot, partition, again)

    @rule(slot=slots, partition=partitions, commit=st.booleans(), moment=st.integers(0, 4), durable=st.booleans())
    def fail_over_while_ending(self, slot: int, partition: int, commit: bool, moment: int, durable: bool) -> None:
        self.fail_over_in_prepare(slot, partition, commit, moment, durable)

    @rule(slot=slots, partition=partitions, commit=st.booleans(), lost=st.sampled_from(("marker", "marker_answer")))
    def marker_again(self, slot: int, partition: int, commit: bool, lost: str) -> None:
        self.lose_marker(slot, partition, commit, lost)

    @precondition(lambda self: not self.lone)
    @rule(slot=slots, partition=partitions)
    def id_expires(self, slot: int, partition: int) -> None:
        self.expire(slot, partition)


class V2(Driven):
    """KIP-890 part 2."""

    @initialize(size=sizes("v2"))
    def begin(self, size: tuple[dict[str, Any], bool, bool]) -> None:
        self.start(*size)


class V1(Driven):
    """Before KIP-890."""

    @initialize(size=sizes("v1"))
    def begin(self, size: tuple[dict[str, Any], bool, bool]) -> None:
        self.start(*size)


class V1Verified(Driven):
    """KIP-890 part 1: the leader verifies."""

    @initialize(size=sizes("v1-verified"))
    def begin(self, size: tuple[dict[str, Any], bool, bool]) -> None:
        self.start(*size)


MACHINES: Mapping[str, type[Maneuvers]] = {"v2": V2, "v1": V1, "v1-verified": V1Verified}
