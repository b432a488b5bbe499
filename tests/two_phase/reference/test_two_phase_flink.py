"""Flink's Kafka sink over the reference: exactly once over crashes, what is lost without KIP-939, what lingers for ever
with it, and why only the checkpoint can answer whether to commit or to abort what lingers (FLINK-39218)."""

import pytest
import two_phase_flink as jobs
from fencepost.reference_impl.kafka.two_phase.flink import Committer, Ended, Naming, Settings, Writer
from fencepost.reference_impl.kafka.two_phase.flink_clients import Clients, SinkError

INCREMENTING, POOLING = Naming
RIGHT = {"early": [], "missing": [], "again": [], "undone": [], "lingers": []}
TODAY = {"two_phase": False}
both = pytest.mark.parametrize("naming", Naming, ids=lambda naming: naming.value)


# Exactly once


@both
@pytest.mark.parametrize("two_phase", [True, False], ids=["kip-939", "today"])
def test_exactly_once_over_a_crash_between_any_two_messages(naming, two_phase):
    """Of each record there is one if its checkpoint has completed, and none before, whatever the parallelism is next,
    in whichever order the attempt commits and aborts, and whether messages of a crashed attempt arrive late or not."""
    points = jobs.crash_points(Settings(naming=naming, two_phase=two_phase))
    assert points > 90
    for point in range(points):
        settings = Settings(naming=naming, two_phase=two_phase, recommits_first=bool(point % 2))
        job = jobs.job_on(jobs.Watched((point, 45)), settings)
        found = jobs.verdict(job, loses=bool(point // 2 % 2))
        assert {**found, "lingers": []} == RIGHT, (point, found)
        # Today an id of POOLING that is used again can linger after a downscale (FLINK-40626), see below.
        assert not found["lingers"] or (naming is POOLING and not two_phase), (point, found)


@both
def test_transaction_without_records_has_no_committable(naming):
    """It has no prepared state, which would be that of the next one too."""
    job = jobs.job_on(jobs.Watched(), Settings(naming=naming, parallelism=2))
    job.start()
    job.feed(1)
    job.checkpoint()
    assert [ended for _, ended in job.ended] == [Ended.COMMITTED]


# What breaks without KIP-939


@both
def test_time_out_loses_a_completed_checkpoint_today(naming):
    """The transaction is aborted while the job is down: the second commit is refused (PRODUCER_FENCED), which passes
    for a known reason, and the source does not replay. Without a time-out it is committed."""
    found = {}
    for two_phase in (False, True):
        job = jobs.unnotified(jobs.Watched(), Settings(naming=naming, two_phase=two_phase))
        job.clients.cluster.rest()
        job.start()
        found[two_phase] = [ended for _, ended in job.ended], jobs.read(job)
    assert found == {False: ([Ended.REFUSED], []), True: ([Ended.COMMITTED], [0, 1])}


def test_used_again_it_lingers_after_a_downscale_today():
    """FLINK-40626: an id that was committed is used again, and the attempt fails. The checkpoint has the id, so that
    LISTING leaves it, and the commit is refused. completeTransaction() aborts it, since its state is another one."""
    found = {}
    for two_phase in (False, True):
        cluster, two = jobs.Watched(), Settings(naming=POOLING, two_phase=two_phase, parallelism=2)
        job = jobs.used_again(cluster, two)
        jobs.continued(job, Settings(naming=POOLING, two_phase=two_phase))
        job.feed(2)
        job.checkpoint()
        found[two_phase] = [ended for _, ended in job.ended[2:4]], job.clients.open_names(), jobs.read(job)
    assert found == {
        False: ([Ended.REFUSED] * 2, ["sink-1-0"], [0, 1, 2, 4]),  # 3 and 5 wait behind it
        True: ([Ended.ABORTED_ANOTHER] * 2, [], [*range(6)]),
    }


# What lingers for ever with KIP-939


PROBED = {jobs.gap_of_subtasks: {"sink-3-1"}, jobs.gap_of_expired_ids: {"sink-1-2"}}
PREFIXED = {
    (jobs.two_changes_of_the_prefix, INCREMENTING): {"second-0-2"},
    (jobs.two_changes_of_the_prefix, POOLING): {"second-0-0"},
    (jobs.change_of_the_prefix_after_an_upscale, INCREMENTING): {"sink-1-2"},
    (jobs.change_of_the_prefix_after_an_upscale, POOLING): {"sink-1-0"},
}
EVERY = {**{(run, INCREMENTING): names for run, names in PROBED.items()}, **PREFIXED}


@pytest.mark.parametrize(("run", "naming"), EVERY, ids=lambda each: getattr(each, "__name__", None) or each.value)
def test_what_lingers_ends_by_time_out_today_and_never_with_two_phase_commit(run, naming):
    today, cluster = jobs.Watched(), jobs.Watched()
    names = EVERY[run, naming]
    job = run(today, naming, **TODAY)
    assert jobs.lingers(today, job) == [names if run is not jobs.gap_of_expired_ids else set(), set()]
    held = run(cluster, naming)
    assert jobs.lingers(cluster, held) == [names, names]
    assert {*jobs.read(held)} < {*jobs.read(job)}  # what is behind it is not read


@pytest.mark.parametrize("run", PROBED)
def test_listing_finds_what_probing_does_not(run):
    cluster = jobs.Watched()
    assert jobs.lingers(cluster, run(cluster, POOLING)) == [set(), set()]


# Commit or abort what lingers?


ANSWERS = {
    "commit": (lambda job: lambda *_: True, [0, 0, 1, 1], [0, 1]),
    "abort": (lambda job: lambda *_: False, [0, 1], []),
    "checkpoint": (lambda job: lambda *each: each in job.completed.committables, [0, 1], [0, 1]),
}


@both
@pytest.mark.parametrize("answer", ANSWERS)
def test_only_the_checkpoint_has_the_answer(naming, answer):
    """Committing what no checkpoint has duplicates what the source replays; aborting what one has loses it. The
    committer finds nothing open in either case, and goes on."""
    commits, before, after = ANSWERS[answer]
    job = jobs.job_on(jobs.Watched(), Settings(naming=naming))
    jobs.crashed(job, None, 2)
    jobs.tool(job, commits(job))
    jobs.continued(job, None)
    assert jobs.read(job) == before
    job = jobs.unnotified(jobs.Watched(), Settings(naming=naming))
    jobs.tool(job, commits(job))
    job.start()
    assert (jobs.read(job), [ended for _, ended in job.ended]) == (after, [Ended.NOTHING_OPEN])


# Recommit, then abort?


@pytest.mark.parametrize(
    ("writer", "naming"), [(jobs.ListsAll, POOLING), (jobs.UsesAnyId, POOLING), (jobs.CountsFromRestored, INCREMENTING)]
)
def test_order_of_commit_and_abort_matters_where_names_do_not_protect(writer, naming):
    """Names keep what the checkpoint has from being aborted in either order; a writer without them loses it unless the
    commit is first."""
    for made, first, expected in (
        (Writer, True, [0, 1]),
        (Writer, False, [0, 1]),
        (writer, True, [0, 1]),
        (writer, False, []),
    ):
        job = jobs.unnotified(jobs.Watched(), Settings(naming=naming, recommits_first=first), made)
        job.start()
        assert jobs.read(job) == expected, (made, first)


@both
def test_prefix_of_another_application(naming):
    """LISTING counts what begins with the prefix as its own: "flink" aborts what a checkpoint of "flink-2" has, if both
    write to one topic."""
    cluster = jobs.Watched()
    other = jobs.unnotified(cluster, Settings("flink-2", naming))
    jobs.job_on(cluster, Settings("flink", naming)).start()
    other.start()
    assert jobs.read(other) == {INCREMENTING: [0, 1], POOLING: []}[naming]


def test_committer_that_commits_what_is_open_duplicates():
    """The transaction under the checkpoint's id is that of a failed attempt, whose records the source replays."""
    two = Settings(naming=POOLING, parallelism=2)
    for committer, again in ((Committer, []), (jobs.CommitsWhatIsOpen, [4, 5])):
        job = jobs.used_again(jobs.Watched(), two, committer)
        job.start()
        job.feed(jobs.GOAL - job.position)
        job.checkpoint()
        found = jobs.read(job)
        assert sorted({each for each in found if found.count(each) > 1}) == again


def test_writer_that_does_not_flush_loses_a_record():
    """The request with the record was lost, and would have been repeated."""
    for writer, expected in ((Writer, [0]), (jobs.PreCommitsUnflushed, [])):
        cluster = jobs.Watched()
        job = jobs.job_on(cluster, Settings(**TODAY), writer, jobs.Down)
        job.start()
        job.feed(1)
        cluster.lose_messages()
        with pytest.raises(jobs.Crash):
            job.checkpoint()
        job.crash()
        job.committer = Committer
        job.start()
        assert (job.completed.position, jobs.read(job)) == (1, expected)


# Errors


def test_errors_name_what_is_wrong():
    job = jobs.unnotified(jobs.Watched(), Settings(naming=POOLING))
    with pytest.raises(ValueError, match="Flink does not switch back; use POOLING"):
        job.start(Settings(naming=INCREMENTING))
    with pytest.raises(ValueError, match="no number for 'one-more': the cluster has 128 ids"):
        Clients(jobs.Watched(), [str(each) for each in range(128)]).producer("one-more")
    job.start(Settings(naming=POOLING))
    job.writers[0].producer.error = 90
    with pytest.raises(SinkError, match=r"flush of sink-0-1: error PRODUCER_FENCED \(90\); restart"):
        job.writers[0].flush()
