"""Each protocol that is driven: how it is driven is derived from its interface, its reference raises no alarm, and
texts, releases and applications that break a promise are found by that.

That the reference agrees in a few clusters is part of `verify` (tests/test_readme.py); defects are test_defects.py's.
"""

from importlib import import_module

import pytest
from fencepost.proofs.testing import ImplementationError, agree
from fencepost.properties.catalogue import protocols
from fencepost.properties.conformance_spec import DRIVEN, driven
from fencepost.properties.driving import Program
from fencepost.properties.history import VOCABULARIES
from fencepost.properties.registry import folder

PROTOCOLS = [name for name in DRIVEN if protocols()[name].verified]
RIGHT = [(name, variant) for name in PROTOCOLS for _, variant in protocols()[name].verified_implementations]
WRONG = [
    (name, variant)
    for name in PROTOCOLS
    for variant, *_ in protocols()[name].simulators
    if not protocols()[name].variant(variant).main
]
LATE_COPIES = {"late-copies", "tombstone-primary-first"}
"""Where nothing but a late copy of a tombstone breaks a promise, which few programs have."""
QUICK = {
    ("group-fencing", "group-id-only"), ("source-commits", "previous-snapshot"), ("source-offsets", "stale-topic"),
}  # fmt: skip
"""The others take seconds each: at night."""


@pytest.mark.parametrize(
    ("protocol", "variant"),
    [
        pytest.param(*each, marks=[] if each in QUICK else pytest.mark.nightly(nights=12))
        for each in WRONG if each[1] not in LATE_COPIES
    ],
)  # fmt: skip
def test_what_breaks_a_promise_is_found(protocol: str, variant: str) -> None:
    """In a variant of which it is known, by promises alone.  Static members that share an instance id take up to 321
    clusters with the seeds 2 to 6, the others a few."""
    report = agree(
        driven(protocol).reference, protocol=protocol, variant=variant, promises_only=True, verdict_only=True,
        max_examples=600, seed=1, expecting=(),
    )  # fmt: skip
    assert report.verdict == "violated"
    assert report.failure is not None and report.failure.rules


@pytest.mark.rule("447.P4")
@pytest.mark.parametrize("variant", [variant for name, variant in RIGHT if name == "group-fencing"])
def test_consumer_groups_keep_their_promises(variant: str) -> None:
    """With every kind of event met that these need: also that a lone instance gets no error that ends it."""
    reference = driven("group-fencing").reference
    report = agree(reference, protocol="group-fencing", variant=variant, promises_only=True, max_examples=25, seed=1)
    assert report.failure is None, str(report.failure) + "\n" + report.program
    assert report.verdict == "holds" and report.examples >= 25
    assert {"zombie", "client-crash", "coordinator-fail-over", "loss"} <= report.dangers.keys()


@pytest.mark.nightly(nights=40)
@pytest.mark.parametrize(("protocol", "variant"), RIGHT)
def test_no_alarm_in_many_clusters(protocol: str, variant: str) -> None:
    report = agree(driven(protocol).reference, protocol=protocol, variant=variant, max_examples=1_000, seed=2)
    assert report.failure is None, str(report.failure) + "\n" + report.program


CALLS: dict[str, tuple[set[str], set[str], str, str]] = {
    "id-blocks": ({"settle"}, {"settle"}, "brokers", "zk_step"),
    "group-fencing": ({"walk", "go", "idle", "get_on", "finish"}, {"get_on", "finish"}, "members", "pause"),
    "source-offsets": ({"walk", "go", "get_on", "finish"}, {"finish"}, "tasks", "kill"),
    "source-commits": ({"arrive", "work", "commit", "all_goes_on", "finish"}, {"finish"}, "", ""),
    "task-counts": ({"do", "finish", "get_on", "run", "work"}, set(), "workers", "stall"),
    "transactions": ({"newcomers", "probe", "progress", "settle"}, set(), "", ""),
    "two-phase": ({"settle", "start", "transact"}, set(), "", ""),
}
"""Calls that are more than one method, and those after which nothing is left to happen; a size of the configuration,
and a call that leaves it be made smaller."""


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_how_it_is_driven_is_derived(protocol: str) -> None:
    """From the interface and its scenarios: which calls there are, what is smaller, and what every implementation has
    and shows."""
    agreeing, (composite, ending, size, call) = driven(protocol), CALLS[protocol]
    variants = {variant for name, variant in (*RIGHT, *WRONG) if name == protocol}
    assert variants <= set(agreeing.variants)
    assert agreeing.black_box and agreeing.black_box <= VOCABULARIES[protocol].codes.keys()
    assert agreeing.black_box == (VOCABULARIES[protocol].black_box or agreeing.black_box)
    assert (agreeing.composite, agreeing.ending) == (composite, ending)
    module, _, name = agreeing.reference.partition(":")
    reference, variant = getattr(import_module(module), name), agreeing.variants[0]
    assert agreeing.missing(reference(dict(agreeing.small, mode=variant)), variant) == []
    if size:
        larger = Program({**agreeing.small, "mode": variant, size: agreeing.small[size] + 1}, (agreeing.call(call, 0),))
        assert agreeing.small[size] in [program.config[size] for program in agreeing.call.smaller(larger)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_implementation_that_lacks_methods_is_refused(protocol: str) -> None:
    """By name of what it lacks, and where the interface is described."""
    with pytest.raises(ImplementationError, match=rf"lacks .*fencepost\.properties\.{folder(protocol)}\.interface"):
        agree(lambda config: object(), protocol=protocol)


def test_calls_that_are_dangers() -> None:
    assert driven("group-fencing").call("pause", 1).dangers == ("zombie",)
    assert driven("source-offsets").call("stall", 1).dangers == ("zombie",)
