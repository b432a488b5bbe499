"""Source tasks of a real Connect are driven operation by operation, and held against the promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import driven_connect
import pytest
from fencepost.properties.source_offsets.scenarios import finish, walk
from fencepost.properties.source_offsets.scenarios.cluster import SIZE, SMALL
from fencepost.reference_impl.live.connect.driven import end
from fencepost.reference_impl.live.connect.install import BROKERS, Installed
from fencepost.reference_impl.live.connect.source_offsets import OWN, WORKERS, own
from nights import night

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

LATER, TAKEN, ALWAYS = (f"shipped-own-topic-{how}" for how in ("later", "taken", "from-the-start"))
CONFIG = {**SIZE, **SMALL, "tasks": 1, "partitions": 1, "records": 4, "transaction_timeout_ms": 2_000}
STEPS = ["open", "ask_end", "run", "poll", "send", "send"]
PROGRAMS = 8
"""Each takes a quarter of a minute on an idle machine."""


class Driven(driven_connect.Driven):
    """A system of source tasks."""

    def goes_to(self, operation: str, task: int = 0) -> list[str]:
        """Let the task go on until it waits for this, and return what it did before."""
        done = []
        while operation not in self.waiting(task):
            done += self.waiting(task)[:1]
            assert walk(self.system, task)
        return done

    def output(self) -> list[int]:
        """The committed records of source partition 0, in the order of the topic."""
        self.system.audit()
        return [event["offset"] for event in self.of("output_read", partition=0)]

    def resumes(self) -> int:
        """Where a restart would resume."""
        assert self.system.audit()
        return int(self.of("audited", partition=0)[-1]["offset"])


Made = Callable[..., Driven]


@pytest.fixture(scope="module")
def made(cache: Path, installed: Callable[[str], Installed]) -> Iterator[Made]:
    """A system on one cluster of two workers; arguments are its variant and further settings."""
    installed(BROKERS)
    yield lambda mode, **more: Driven(own({**CONFIG, "mode": mode, "cache": cache, **more}))
    end()


def test_an_own_topic_hides_what_the_workers_has(made: Made) -> None:
    """Nothing happens by itself: a task opens its producer, asks for its offsets, polls, sends and commits in steps.
    Given a topic of its own it finds no offset, and what was committed is committed again."""
    driven = made(LATER)
    did = driven.goes_to("commit")
    assert did in ([*STEPS, "flush"], STEPS)  # an offset may be in a request with the last record
    assert driven.of("offset_found") == driven.of("offset_found", partition=0, offset=0)
    assert [event["offset"] for event in driven.of("record_sent")] == [1, 2]
    assert driven.output() == []
    driven.step("commit")
    assert driven.of("offset_sent", topic=WORKERS, offset=2)
    assert driven.of("end_told", outcome=1, error=0)
    assert (driven.output(), driven.resumes()) == ([1, 2], 2)
    first = driven.of("instance_running")[0]["instance"]
    assert driven.system.configure(1, True)
    driven.goes_to("poll")
    assert driven.of("instance_stopped", instance=first)
    assert driven.of("configured", generation=1, topic=OWN)
    assert driven.of("offset_found")[-1]["offset"] == 0
    assert driven.goes_to("copy")[:2] == ["poll", "send"]
    driven.step("copy", "lost")
    assert driven.of("copy_sent", topic=WORKERS, offset=2)
    assert not driven.of("copy_told")
    driven.goes_to("commit")
    driven.step("commit")
    assert driven.output() == [1, 2, 1, 2]


@pytest.mark.nightly
def test_a_copy_of_what_is_not_committed_loses_records(made: Made) -> None:
    """The copy is there before its transaction is committed, which then fails. Without its own topic the task begins
    behind records that are in no output."""
    driven = made(TAKEN, separate=True)
    driven.goes_to("copy")
    driven.step("copy")
    driven.step("commit", "failed")
    assert driven.system.configure(1, False)
    driven.goes_to("poll")
    assert driven.of("instance_failed")
    assert driven.of("offset_found")[-1]["offset"] == 2
    finish(driven.system, 1)
    assert driven.output() == [3, 4]


@pytest.mark.nightly
@pytest.mark.parametrize("boundary", ["poll", "connector"])
def test_an_overtaken_task_commits_nothing(made: Made, boundary: str) -> None:
    """A worker stands still before a commit, another one has the task and commits; what comes late is refused. Where
    the connector has a transaction aborted, its records are left out, and its offset is in the next one."""
    driven = made(ALWAYS, separate=True, boundary=boundary)
    driven.goes_to("poll")
    asked = driven.system.ask_boundary(0, False)
    assert asked == (boundary == "connector")
    driven.goes_to("abort" if asked else "commit")
    assert driven.system.stall(0)
    assert driven.waiting() == []
    late = driven.of("polled")[-1]  # an abort drops the records that are not on their way yet
    assert driven.system.restart(0)
    driven.goes_to("poll")
    assert driven.of("offset_found")[-1]["offset"] == 0
    assert driven.system.resume(0)
    for thread in driven.system.threads():
        if thread[3] == late["instance"]:
            driven.system.step(thread[0])
    assert not driven.of("end_told", instance=late["instance"], error=0)
    if asked:
        assert driven.system.ask_boundary(0, False)
        assert "abort" in driven.goes_to("commit")
        assert [event["offset"] for event in driven.of("given_up")] == [1, 2]
    finish(driven.system, 1)
    assert driven.output() == ([3, 4] if asked else [1, 2, 3, 4])
    assert driven.resumes() == 4


@pytest.mark.nightly
def test_a_worker_that_is_gone_leaves_its_transaction_open(made: Made) -> None:
    """It is aborted when it times out, or when the task is started again."""
    driven = made("shipped")
    assert not driven.system.configure(1, True)
    driven.goes_to("commit")
    assert driven.system.kill(0)
    assert not driven.system.audit()
    driven.system.advance(2_000)
    assert driven.resumes() == 0
    assert driven.system.restart(0)
    finish(driven.system, 1)
    assert driven.output() == [1, 2, 3, 4]


@pytest.mark.nightly(nights=4)
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("variant", ["shipped", ALWAYS])
def test_generated_programs_keep_the_promises(made: Made, cache: Path, variant: str) -> None:
    """Others each night."""
    made(variant)
    search = driven_connect.LiveSearch("source-offsets", variant, {"cache": cache})
    search.search(night() or 0, PROGRAMS, search.agreeing.steps, None)
    assert [failure.disagreed for failure in search.failures] == []
    assert search.examples >= PROGRAMS  # of which Hypothesis may discard some
