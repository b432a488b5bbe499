"""This module drives the source tasks of a real Connect cluster with the scenarios of the reference.

No request stops a single task of a release, and the cluster has one broker. Transactions that end by the clock,
records that a transformation drops, and null offsets are left to the reference.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fencepost.properties.conformance_spec import driven
from fencepost.properties.machine import redrawn, scenario, variants
from fencepost.properties.roles import OneOf
from fencepost.properties.source_offsets.events import FROM_THE_START, REFUTED, SOURCE_OFFSETS
from fencepost.properties.source_offsets.interface import Task
from fencepost.properties.source_offsets.scenarios import STEPS, WEIGHTS, Scenarios
from hypothesis import strategies as st

# A connector that is ``empty`` asks for the end of a transaction with a poll that gives no records.

HIDDEN = {
    "topic_deleted", "instance_checked", "end_asked", "end_reached", "owner_started", "looked", "migrated",
    "owner_done", "owner_stalled", "owner_resumed",
}  # fmt: skip
"""What no client and no request reveals, or no release does; no transformation is there, so that nothing is dropped."""
ONE_BROKER = {"lead", "fail_over", "stop"}
OPERATIONS = OneOf("open", "ask_end", "run", "send", "flush", "commit")
SIZE: Mapping[str, Any] = {"rounds": 1, "filtered": 0, "interval_ms": 100, "timeout_check_ms": 50}
SMALL: Mapping[str, Any] = {
    "tasks": 2,
    "partitions": 2,
    "records": 8,
    "batch": 2,
    "boundary": "poll",
    "separate": False,
}

DRIVEN = driven("source-offsets")


BEGINS = {"shipped": False, FROM_THE_START: True, "shipped-own-topic-later": False, "shipped-own-topic-taken": True}
"""By variant, whether a connector begins with an offsets topic of its own."""


class Live(
    Scenarios, steps={name: method for name, method in STEPS.items() if name not in ONE_BROKER},
    weights={name: weight for name, weight in WEIGHTS.items() if name not in ("ended_in_order", "taken_away")}
    | {"topic_changed": 32}, rules=4,
):  # fmt: skip
    """A `Live` drives real workers, one cluster for all programs."""

    call_type = DRIVEN.call
    sizes = st.fixed_dictionaries({
        "seed": st.just(0), **{name: st.just(value) for name, value in SIZE.items()},
        "tasks": st.sampled_from((1, 1, 2)), "partitions": st.sampled_from((1, 2)), "records": st.just(8),
        "batch": st.sampled_from((2, 3, 1)),
        "boundary": st.sampled_from(("poll", "connector")), "empty": st.booleans(),
        "transaction_timeout_ms": st.sampled_from((2_000, 400)),
    })  # fmt: skip

    ended_in_order = taken_away = None  # type: ignore[assignment]

    @scenario(when=lambda self: self.run.config["mode"] in REFUTED)
    def topic_changed(
        self,
        task: Task,
        how: Annotated[str, OneOf("failed", "failed", "ok", "lost")],
        copied: Annotated[bool, OneOf(True, True, False)],
    ) -> None:
        """The connector is given its own offsets topic, or loses it, after a commit, whose copy came before or not."""
        if self.goes_to(task, "commit"):
            for thread in self.waiting("copy", task) if copied else ():
                self.send(thread, "step")
            self.refused(task, "commit", how)
        self.call("configure", self.run.config["tasks"], not BEGINS[self.run.config["mode"]])
        self.call("go", 20)
        self.call("audit")

    overtaken = redrawn(Scenarios.overtaken, at=OPERATIONS)
    interrupted = redrawn(
        Scenarios.interrupted,
        at=OneOf("open", "send", "flush", "commit", "commit", "abort", "copy", "ask_end", "poll"),
        how=OneOf("failed", "failed", "lost", "lost", "kill", "restart"),
    )  # fmt: skip


def _sizes(separate: bool) -> st.SearchStrategy[Any]:
    return Live.sizes.map(lambda size: {**size, "separate": separate})


MACHINES = variants(Live, {name: _sizes(separate) for name, separate in BEGINS.items()})

ON_A_CLUSTER = replace(
    DRIVEN, implementation="fencepost.reference_impl.live.connect.source_offsets:own", follow=None, probed=False,
    black_box=frozenset(SOURCE_OFFSETS.black_box - HIDDEN), small={**DRIVEN.small, **SIZE, **SMALL}, machines=MACHINES,
    tries=3, replays=6, between=True, by_silence=True, further=0, steps=6, unfollowed=frozenset(),
    unrepeated=frozenset({"instance", "generation", "producer_id", "epoch", "position"}),
)  # fmt: skip
"""Real workers are held against the promises alone: of what a model would follow, the reading of topics is unseen."""
