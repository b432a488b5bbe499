"""A source task of a real Connect worker commits in steps, without exactly-once support and with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from driven_connect import Driven, LiveSearch
from fencepost.properties.source_commits.scenarios import all_goes_on, arrive, finish, work
from fencepost.properties.source_commits.scenarios.cluster import SMALL
from fencepost.reference_impl.live.connect.driven import end
from fencepost.reference_impl.live.connect.install import BROKERS, Installed
from fencepost.reference_impl.live.connect.source_commits import COMMITTER, ONCE, TASK, own
from nights import night

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

PROGRAMS = 6
ABORTED = {"src.1"}
"""Where the connector has a transaction aborted, commitRecord has metadata for what was in it."""
Made = Callable[[str], Driven]


@pytest.fixture(scope="module")
def made(cache: Path, installed: Callable[[str], Installed]) -> Iterator[Made]:
    """A system on a cluster of one worker, of a variant."""
    installed(BROKERS)
    yield lambda mode: Driven(own({**SMALL, "mode": mode, "cache": cache}))
    end()


def test_the_committer_commits_when_it_is_due(made: Made) -> None:
    """What was acknowledged is stored by the flush of the next commit, and commit is called after it; the end of the
    task stores the rest."""
    driven = made("shipped")
    assert driven.system.start()
    work(driven.system, 2, "record")
    assert "record" in driven.waiting()
    assert not driven.of("acknowledged")
    work(driven.system, 2)  # what it takes off its queue before a poll is committable
    assert [event["record"] for event in driven.of("acknowledged")][:2] == [1, 2]
    assert driven.system.commit_due()
    assert "offset" in driven.waiting()
    assert not driven.system.commit_due()
    arrive(driven.system)
    assert driven.of("offset_written")[-1]["offset"] >= 2
    before = len(driven.of("told", thread=COMMITTER))
    driven.step("tell")
    assert len(driven.of("told", thread=COMMITTER)) == before + 1
    assert driven.of("discarded") == driven.of("discarded", offset=driven.of("offset_written")[-1]["offset"])
    assert driven.system.stop()
    all_goes_on(driven.system, 4)
    assert driven.of("told", thread=TASK)
    driven.system.audit()
    assert driven.of("audited")[-1]["offset"] == len(driven.of("acknowledged"))


@pytest.mark.nightly
def test_a_flush_that_fails_is_repeated(made: Made) -> None:
    """The write of an offset fails, and commit is not called; the next commit has the offset."""
    driven = made("shipped")
    driven.system.start()
    work(driven.system, 4)
    driven.system.commit_due()
    driven.step("offset", "failed")
    assert not driven.of("offset_written")
    arrive(driven.system)
    assert driven.of("offset_written")
    assert "tell" in driven.waiting()
    driven.step("tell", "failed")
    assert driven.of("telling_failed", thread=COMMITTER)
    finish(driven.system, 6, 1)
    assert driven.of("audited")[-1]["offset"] == 6


@pytest.mark.nightly
def test_a_transaction_has_records_and_offsets(made: Made) -> None:
    """Nothing counts before the commit; the task is told after it. A worker that is gone leaves it to the next one."""
    driven = made(ONCE)
    driven.system.start()
    for _ in range(9):
        if "commit" in driven.waiting():
            break
        work(driven.system, 1)
    assert driven.of("polled")
    assert not driven.of("produced")
    assert not driven.system.commit_due()
    driven.step("commit")
    assert [event["record"] for event in driven.of("produced")] == [1, 2]
    assert driven.of("offset_written", offset=2)
    driven.step("tell")
    assert driven.of("told", thread=TASK)
    assert driven.system.kill()
    assert driven.system.start()
    assert driven.system.abort()
    finish(driven.system, 6, 1)
    assert driven.of("resumed")[-1]["offset"] == 2
    assert [event["record"] for event in driven.of("given_up")] == [3, 4]
    assert [event["record"] for event in driven.of("output_read")] == [1, 2, 5, 6]
    assert driven.of("audited")[-1]["offset"] == 6


@pytest.mark.nightly(nights=2)
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("variant", ["shipped", ONCE])
def test_generated_programs_keep_what_is_seen(made: Made, cache: Path, variant: str) -> None:
    """Others each night."""
    made(variant)
    search = LiveSearch("source-commits", variant, {"cache": cache})
    search.search(night() or 0, PROGRAMS, search.agreeing.steps, None)
    broken = [failure.disagreed for failure in search.failures]
    assert all(variant == ONCE and each.promises <= ABORTED for each in broken), broken
    assert search.examples >= PROGRAMS or broken
