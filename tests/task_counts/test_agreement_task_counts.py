"""Driven Connect clusters are checked against the core of each text and its promises, and defects are found by what
topics, coordinators and REST reveal.

`tests/every_protocol/test_defects.py` checks that every defect is found.
"""

from statistics import median

import pytest
from fencepost.model.language.derived.mutations import settle
from fencepost.model.task_counts.abstract import loose
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.results import Event
from fencepost.proofs.testing import agree, calls_from
from fencepost.properties.driving import make
from fencepost.properties.roles import Named
from fencepost.properties.task_counts.claims import core
from fencepost.properties.task_counts.interface import BLACK_BOX, Call, Thread, finish, run, work
from fencepost.reference_impl.systems.task_counts_cluster import reference

REFERENCE = "fencepost.reference_impl.systems.task_counts_cluster:reference"
BROKEN = "fencepost.reference_impl.defects.task_counts"
PROMISES = {"618.P1", "618.P3", "618.P4"}
EXAMPLES = 100
ONE_WORKER = {"workers": 1, "connectors": 1, "max_tasks": 2, "protocol": "eager", "heartbeat_ms": 0}


def driven(implementation, variant="shipped", **options):
    return agree(implementation, protocol="task-counts", variant=variant, **options)


def test_black_box_keeps_its_promises():
    report = driven(REFERENCE, max_examples=10, observe="black-box")
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert set(report.observed) == BLACK_BOX
    assert all(reason.startswith("it does not show") for reason in report.coverage.beyond)


@pytest.mark.parametrize(
    ("name", "rules"), [("no_check_after", ("618.P1",)), ("fence_new_count", ("618.P3", "618.P1"))]
)
def test_found_through_the_black_box(name, rules):
    """The two deep mistakes break a promise, and the program that exposes them fails by itself."""
    report = driven(f"{BROKEN}:{name}", max_examples=EXAMPLES, promises=PROMISES, observe="black-box", seed=1)
    assert report.verdict == "violated"
    assert report.failure.rules[0] in rules
    assert report.failure.calls <= 14
    with pytest.raises(AssertionError):
        exec(report.program, {})


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["no_check_after", "fence_new_count"])
def test_deep_mutants_break_a_promise_soon(name):
    """Plain random search for 618.P1, P3 and P4 missed these mutants in 240,000 steps (an example has about ten)."""
    reports = [driven(f"{BROKEN}:{name}", max_examples=2 * EXAMPLES, seed=seed, promises=PROMISES) for seed in range(7)]
    assert {report.verdict for report in reports} == {"violated"}
    assert median(report.examples for report in reports) <= 20


def test_who_writes_from_outside_is_not_followed():
    """618.34: With a foreign writer nothing is promised, and no worker is accused."""
    outside = [Call("run"), Call("write_foreign", "count", 0, 1), Call("run")]
    report = driven(REFERENCE, max_examples=4, steps=3, prefixes=[outside])
    assert (report.verdict, report.failure) == ("unknown", None)
    assert "another client writes to the config topic" in report.coverage.beyond


def test_an_older_round_may_fence_the_only_task_of_a_newer_set():
    """A user's haste excuses the task that stays failed (DistributedHerder.doFenceZombieSourceTasks: from one task to
    one, the round under way is not joined)."""
    hasty = [Call("run"), Call("configure", 0, 0, 1), Call("run"), Call("configure", 0, 0, 2), Call("run", "fence"),
             Call("configure", 0, 0, 1), Call("run", "fence"), Call("run"), Call("work"), Call("run")]  # fmt: skip
    report = driven(REFERENCE, config=ONE_WORKER, max_examples=2, steps=1, prefixes=[hasty])
    assert report.failure is None, str(report.failure) + "\n" + report.program


def test_calls_are_spelled_as_python():
    """A thread is named by what it waits for, and the text has its worker."""
    cluster = reference({"seed": 0, "workers": 1, "mode": "B", "support": "enabled"})
    spelled = Call("step", Named(("join", 0, -1, -1)), "lost").spelled(cluster)
    assert spelled.arguments == (0, "lost")
    assert spelled.remark == "join, worker 0"
    assert Call("step", Named(("poll", 0, -1, -1))).spelled(cluster) is None


def test_helpers_of_programs():
    cluster = reference({"seed": 0, "workers": 2, "mode": "shipped", "support": "enabled"})
    run(cluster)
    assert cluster.configure(0, 0, 2)
    run(cluster, "open_producer", connector=0, task=1)
    waiting: list[Thread] = cluster.threads()
    assert ("open_producer", 1) in {(operation, task) for _, operation, _, _, task in waiting}
    assert work(cluster) == 2
    done = finish(cluster, 2, 1, 2)
    assert done.quiet
    assert done.at_work == {(0, 0), (0, 1)}


def test_run_of_the_model_leads_an_implementation():
    steps = [
        Event("elect", {"w": 0}), Event("reconfigure", {"w": 0, "n": 1}), Event("start_round", {"w": 0}),
        Event("write_count", {"w": 0}), Event("poll", {"w": 0}), Event("assign", {"w": 0, "k": 0, "i": 0}),
        Event("open_producer", {"w": 0, "k": 0}), Event("check_after", {"w": 0, "k": 0}),
    ]  # fmt: skip
    calls = calls_from(steps, "task-counts")
    assert [call.name for call in calls] == ["expire", "configure", "do", "do", "do", "do"]
    cluster = reference({"seed": 0, "workers": 2, "mode": "shipped", "support": "enabled"})
    run(cluster)
    made = [make(cluster, call) for call in calls]
    assert all(m is not None and m.error is None for m in made)
    assert [m.result for m in made[1:]] == [True] * 5
    assert "task_running" in {e.kind for e in made[-1].events}


@pytest.mark.parametrize(
    ("form", "lemmas"),
    [
        (loose.LooseShipped, core.ShippedLemmas),
        pytest.param(loose.LooseA, core.ALemmas, marks=pytest.mark.nightly),
        pytest.param(loose.LooseM, core.MLemmas, marks=pytest.mark.nightly),
        pytest.param(loose.LooseB, core.BLemmas, marks=pytest.mark.nightly),
    ],
)
def test_what_is_followed_keeps_the_promises(form, lemmas):
    """The lemmas of the core are inductive with the additional steps of implementations."""
    properties = type("LooseLemmas", (lemmas,), {"__doc__": "The same."}, of=form).properties
    proof = prove(settle(form.spec), properties, counterexamples=False)
    assert {"lead", "fence_late"} <= set(form.spec.actions)
    assert len(proof.obligations) > 300
    assert proof.failures == ()
