"""The promises about exactly-once source connectors end in these cases, or need a user. A script that goes beyond
violates a history property, and one that does not go beyond is clean."""

import pytest
from fencepost.properties.history.pieces import columns_of
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.task_counts.events import TASK_COUNTS
from fencepost.properties.task_counts.scenarios.known import Script, second_task_outlives_its_set
from fencepost.reference_impl.connect.group import uses_transactions
from fencepost.reference_impl.connect.herder import Herder
from fencepost.reference_impl.systems.task_counts_cluster import Parts, build, second_cluster

HELD = properties_of("task-counts")
THREE = {"mode": "B", "workers": 3}
SHIPPED = {"mode": "shipped", "workers": 3}
UPGRADING = {"mode": "shipped", "workers": 3, "max_tasks": 3, "support": ["preparing", "preparing", "enabled"]}


def task_waits_for_a_paused_leader(script):
    """618.11: A task has asked a leader that is paused. It does not ask the next leader, fails when its request times
    out, and stays FAILED until a user restarts it."""
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 2)
    leader = script.until("start_round").worker
    script.settle()  # both have asked
    script.zombie(leader)
    script.settle(100_000)
    script.resume(leader)
    script.go()
    if not script.broken:
        for task in (0, 1):
            script.restart_task(0, task)
    script.work()


def late_fence_of_a_former_leader(script):
    """618.6, 618.26: A removed leader's round resumes after another leader has counted, and fences a healthy task,
    which stays FAILED until a user restarts it. No older task commits."""
    script.configure(0, 2)
    script.work()
    script.system.configure(0, 0, 2)
    late = script.until("fence", task=0)
    script.settle()
    script.zombie(late.worker)
    script.work()
    script.resume(late.worker)
    script.alone(late)
    script.work()
    if not script.broken:
        for task in (0, 1):  # 1 has waited for that round all the while
            script.restart_task(0, task)
    script.work()


def worker_without_support(script):
    """618.33: The task of a single worker without support cannot be fenced."""
    script.configure(0, 3)
    script.work()
    script.zombie(2)
    script.configure(0, 1)
    script.work()
    script.resume(2)
    script.work(worker=2)


def foreign_writer(script):
    """618.34: A program that leads no group writes a count record, which the next round trusts."""
    script.configure(0, 2)
    script.work()
    if script.broken:
        script.system.write_foreign("count", 0, 1)
        script.settle()
    second_task_outlives_its_set(script)


class CommittedWhilePreparing(Herder):
    """This corrected herder skips aborted transactions whenever it leads by transactions."""

    @property
    def reads_committed(self) -> bool:
        return uses_transactions(self.env.revision, self.support)


def aborted_count_of_a_preparing_leader(script):
    """618.35: A leader that is `preparing` reads a count record whose transaction was aborted, and uses it.

    The leader that wrote it crashed before the commit. The next one, as released, regards all tasks as counted, so that
    a task starts on the worker that is already enabled without any count that covers it. Then the two others finish the
    second upgrade, the last one right after a smaller set, and the enabled leader finds no count to fence by.
    """
    script.system.configure(0, 0, 3)
    counting = script.until("write_count")
    script.held.clear()
    script.system.crash_in_write(counting.number)
    script.system.expire(counting.worker)
    script.settle()
    script.restart_task(0, 2)
    script.system.set_support(0, "enabled")
    script.settle()
    script.work()
    script.system.stall(2)
    script.system.configure(1, 0, 1)
    script.settle()
    script.system.set_support(1, "enabled")
    script.zombie(2)
    script.work()
    script.resume(2)
    script.work(worker=2)


def colliding_names(script):
    """618.49: Group "connect", connector "connector-0", task 1 and group "connect-connector", connector "0", task 1
    have one transactional id, so that the other cluster's task fences this one."""
    script.configure(0, 2)
    script.work()
    names = ["0" if script.broken else "zero"]
    config = {"mode": "B", "workers": 1, "group_id": "connect-connector", "names": names, "support": "enabled"}
    other = Script(second_cluster(script.system, config), **config)
    other.configure(0, 2)
    script.work()


CASES = {
    "paused-leader": (task_waits_for_a_paused_leader, SHIPPED, {}, {}, "newest_set_polls"),
    "late-fence": (late_fence_of_a_former_leader, SHIPPED, {}, {}, "newest_set_polls"),
    "618.33": (
        worker_without_support, {**THREE, "max_tasks": 3}, {"support": ["enabled", "enabled", "disabled"]}, {},
        "no_zombie_commits",
    ),
    "618.34": (foreign_writer, THREE, {}, {}, "no_zombie_commits"),
    "618.35": (
        aborted_count_of_a_preparing_leader, UPGRADING, {}, {"herder": CommittedWhilePreparing}, "no_zombie_commits",
    ),
    "618.49": (colliding_names, {**THREE, "workers": 2}, {}, {}, "newest_set_polls"),
}  # fmt: skip
"""Each case has its script, its config, the config added to go beyond and to stay within, and the history property that
is violated."""


def of(herder, broken, **config):
    """Return a script on a cluster with this herder."""
    return Script(build({**Script.SMALL, **config}, Parts(herder=herder)), broken, **config)


def violated(play, broken, herder=Herder, **config):
    script = of(herder, broken, **config)
    play(script)
    rows = [(e.step, e.time_us, TASK_COUNTS.codes[e.kind], *e[3:]) for e in script.seen()]
    found, _ = HELD.check(columns_of(TASK_COUNTS, [(0, rows)]), config={**config, "quiet_end": True})
    return {name for name, finding in found.items() if finding.violations}


@pytest.mark.parametrize("name", CASES)
def test_beyond_what_is_promised(name):
    play, both, beyond, within, found = CASES[name]
    assert found in violated(play, True, **both, **beyond)
    assert found not in violated(play, False, **both, **within)


@pytest.mark.parametrize(("support", "refused"), [("disabled", False), ("enabled", True)])
def test_two_workers_run_one_task(support, refused):
    """B36: A worker that has lost the group runs its task on while another one has it too. Without exactly-once support
    both commit, and with it the second producer has fenced the first."""
    script = Script.of_reference(mode="shipped", workers=2, support=support)
    script.configure(0, 1)
    script.work()
    owner = script.owner(0, 0)
    script.zombie(owner)
    script.work()
    script.resume(owner)
    script.work(worker=owner)
    assert bool(script.kinds("transaction_refused")) == refused


@pytest.mark.parametrize("mend", [False, True])
def test_who_is_preparing_reads_what_was_aborted(mend):
    """618.35: A count is aborted by the next leader's claim after its writer crashed. An enabled worker skips it, and
    so does a corrected preparing one."""
    script = of(CommittedWhilePreparing if mend else Herder, False, **UPGRADING)
    script.system.configure(0, 0, 3)
    counting = script.until("write_count")
    script.system.crash_in_write(counting.number)
    script.system.expire(counting.worker)
    script.settle()
    herders = [worker.herder for worker in script.system.env.workers]
    assert counting.worker == 0 and herders[0] is None and script.leader() == 1
    assert [herder.view.state.count("connector-0") for herder in herders[1:]] == [None if mend else 3, None]
    assert [record.key for _, record in script.system.config_topic() if "fencing" in record.key] == []
    assert script.system.env.brokers.log(0).aborted


def test_only_a_leaders_transaction_breaks_off():
    script = of(Herder, False, mode="shipped", workers=1, support="disabled")
    script.system.configure(0, 0, 1)
    writing = script.until("write")
    with pytest.raises(ValueError, match="must be a leader's write in a transaction"):
        script.system.crash_in_write(writing.number)
    with pytest.raises(KeyError):
        script.system.crash_in_write(99)
