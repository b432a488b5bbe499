"""Connect clusters are driven: the reference does what the core of each text allows and keeps its promises, and
implementations with one thing wrong are found by what topics, coordinators and REST show (about a minute; the shy ones:
nightly).
"""

import pytest
import task_counts_doubles
from fencepost.proofs.agreement import ImplementationError, agree, calls_from
from fencepost.proofs.results import Event
from fencepost.properties.driving import make
from fencepost.properties.task_counts.plug import BLACK_BOX, Thread
from fencepost.properties.task_counts.programs import Call
from fencepost.properties.task_counts.settling import finish, run, work
from fencepost.reference_impl.connect.broken import REGISTRY
from fencepost.reference_impl.connect.system import reference

REFERENCE = "fencepost.reference_impl.connect.system:reference"
BROKEN = "fencepost.reference_impl.connect.broken"
PROMISES = {"618.P1", "618.P3", "618.P4"}
EXAMPLES = 60


def driven(implementation, variant="shipped", **options):
    return agree(implementation, protocol="task-counts", variant=variant, **options)


def needs(name):
    """The variant, and the rest of the configuration, in which a defect can show."""
    config = dict(REGISTRY[name].needs)
    return config.pop("mode", "shipped"), config


@pytest.mark.parametrize("variant", ["shipped", "A", "M", "B"])
def test_reference_agrees(variant):
    """It is followed to the end, and no promise is broken."""
    report = driven(REFERENCE, variant, max_examples=15, seed=1)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert (report.verdict, report.model) == ("holds", variant)
    assert not report.coverage.beyond
    assert {"elect", "reconfigure", "start_round", "fence", "write_count", "open_producer", "check_after", "stop"} <= {
        name for name, count in report.coverage.actions.items() if count
    }


def test_black_box_keeps_its_promises():
    """An implementation that shows no more than the black box is judged by promises alone."""
    report = driven(task_counts_doubles.toy, max_examples=20)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert set(report.observed) == BLACK_BOX
    assert all(reason.startswith("it does not show") for reason in report.coverage.beyond)


def test_whoever_shows_more_is_followed():
    """Another implementation, written apart from the reference, agrees with the same core."""
    report = driven(task_counts_doubles.told, max_examples=20)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert not report.coverage.beyond
    assert report.coverage.actions["answer"] > 10


@pytest.mark.parametrize(
    ("name", "rules"),
    [("without_check_after", ("618.P1",)), ("fences_as_many_as_the_new_set", ("618.P3", "618.P1"))],
)
def test_found_through_the_black_box(name, rules):
    """The two deep mistakes break a promise, and the program that shows it fails by itself."""
    report = driven(getattr(task_counts_doubles, name), max_examples=EXAMPLES, promises=PROMISES)
    assert report.verdict == "violated"
    assert report.failure.rules[0] in rules
    assert report.failure.calls <= 14
    with pytest.raises(AssertionError):
        exec(report.program, {})


def test_plug_that_lacks_methods():
    """What can't be driven is refused by name of what it lacks, and told where the plug is described."""
    with pytest.raises(ImplementationError, match=r"lacks threads, step.*fencepost\.properties\.task_counts\.plug"):
        driven(lambda config: object())


def test_who_writes_from_outside_is_not_followed():
    """With a writer that is no leader nothing is promised (618.34), and nothing is held against anybody."""
    outside = [Call("run"), Call("write_foreign", connector=0, kind="count", value=1), Call("run")]
    report = driven(REFERENCE, max_examples=4, steps=3, prefixes=[outside])
    assert report.verdict == "holds"
    assert "somebody else writes to the config topic" in report.coverage.beyond


def test_calls_are_spelled_as_python():
    """A thread is named by what it waits for, and the text says whose it is."""
    cluster = reference({"seed": 0, "workers": 1, "mode": "B"})
    spelled = Call("step", 0, operation="join", outcome="lost").spelled(cluster)
    assert spelled.arguments == (0, "lost")
    assert spelled.remark == "join, worker 0"
    assert Call("step", 0, operation="poll").spelled(cluster) is None


def test_helpers_of_programs():
    """A cluster runs until a thread is about to do what is spared, and to the end of all faults."""
    cluster = reference({"seed": 0, "workers": 2, "mode": "shipped"})
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
    """Steps of the full model become calls that bring a cluster to about the same place: for starting states."""
    steps = [
        Event("elect", {"w": 0}), Event("reconfigure", {"w": 0, "n": 1}), Event("start_round", {"w": 0}),
        Event("write_count", {"w": 0}), Event("poll", {"w": 0}), Event("assign", {"w": 0, "k": 0, "i": 0}),
        Event("open_producer", {"w": 0, "k": 0}), Event("check_after", {"w": 0, "k": 0}),
    ]  # fmt: skip
    calls = calls_from(steps, "task-counts")
    assert [call.name for call in calls] == ["expire", "configure", "do", "do", "do", "do"]
    cluster = reference({"seed": 0, "workers": 2, "mode": "shipped"})
    run(cluster)
    made = [make(cluster, call) for call in calls]
    assert all(m is not None and m.error is None for m in made)
    assert [m.result for m in made[1:]] == [True] * 5
    assert "task_running" in {e.kind for e in made[-1].events}
