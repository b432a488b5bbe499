"""Every defect of every reference is found by agreement, and the correct implementation is not.

Each is looked for with the seed that finds it in the fewest clusters, as ``tests/golden/kept/agreement.txt`` has it. A
new defect is a decorated class; its line in that file is computed by

    python tests/script.py tests/golden/support/golden.py add agreement
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import golden
import pytest
from detection_runs import PROTOCOLS, defects, found_after, is_followed_in
from fencepost.model.rules import RULES
from fencepost.proofs.testing import agree
from fencepost.properties.conformance_spec import driven
from fencepost.properties.registry import folder
from fencepost.reference_impl.kafka.log import PartitionLog
from fencepost.reference_impl.kafka.transaction_coordinator import Coordinator
from fencepost.reference_impl.simulation.defects import NOTHING, PROMISE, Breaks, by_config, defect, registry
from fencepost.reference_impl.systems.transactions import Parts, build

EVERY_RUN = {"id-blocks": 20, "source-commits": 5, "two-phase": 2}
"""A defect that is found in so many clusters is looked for in every run, the others at night; of protocols that are not
named, in one.  The clusters of these two take a twentieth of a second."""
CLUSTERS = 3
"""Of the correct implementation, for each configuration that some defect needs."""
CONTROLS = 8
"""Clusters in which a control is not found."""
LINES = {(line[0], line[1]): line[2].split() for line in (row.split(" | ") for row in golden.recorded("agreement"))}
BREAKING = [(protocol, name) for protocol in PROTOCOLS for name in defects(protocol)]
HARMLESS = [(protocol, name) for protocol in PROTOCOLS for name in defects(protocol, ("nothing",))]
NOT_FOUND = {
    "commit_incomplete": "no worker writes a commit record whose set is not whole",
}
"""Defects that no driver brings out, and why."""
WRONG_BY_ITSELF = {
    "instance_unchecked": "members that share an instance id fence one another, as they should not",
    "old_clients_not_held": "the draft breaks promises by itself (447.8)",
    "reverse_map_forgotten": "the draft breaks promises by itself (447.8)",
    "undefined_generation_passes": "the draft refuses an old client for ever where a newer one has committed (447.8), "
    "which ends it though it is alone (447.P4; the known bug 447.12-stuck)",
}
"""Of defects: why the configuration that they need raises an alarm without them."""


def pinned(protocol: str, name: str) -> tuple[int, int]:
    """In how many clusters it is found, and with which seed."""
    if (protocol, name) not in LINES:
        pytest.fail(
            f"{protocol}/{name} has no line in tests/golden/kept/agreement.txt yet; this adds it: "
            f"python tests/script.py tests/golden/support/golden.py add agreement --protocol {protocol}"
        )
    found = [(int(clusters), seed) for seed, clusters in enumerate(LINES[protocol, name]) if clusters != "-"]
    if not found:
        pytest.fail(f"{protocol}/{name} is found with none of the seeds 0 to 9: NOT_FOUND has to say why")
    return min(found)


def case(protocol: str, name: str, is_slow: bool) -> Any:
    marks = [pytest.mark.nightly(nights=8)] if is_slow else []
    return pytest.param(protocol, name, id=f"{protocol}-{name}", marks=marks)


def looked_for() -> Iterator[Any]:
    """Every defect that is to be found; at night the slow ones, and of each rule all but the one that the fewest
    clusters find."""
    of_rule: dict[tuple[str, str], tuple[int, str]] = {}
    for protocol, name in BREAKING:
        if name not in NOT_FOUND:
            rule = protocol, defects(protocol)[name].rule
            of_rule[rule] = min(of_rule.get(rule, (fewest(protocol, name), name)), (fewest(protocol, name), name))
    for protocol, name in BREAKING:
        if name not in NOT_FOUND:
            is_slow = fewest(protocol, name) > EVERY_RUN.get(protocol, 1)
            has_sibling = of_rule[protocol, defects(protocol)[name].rule][1] != name
            yield case(protocol, name, is_slow or has_sibling)


def fewest(protocol: str, name: str) -> int:
    """Clusters, of the best seed; 0 where that is not known yet."""
    return min((int(each) for each in LINES.get((protocol, name), ()) if each != "-"), default=0)


@pytest.mark.parametrize(("protocol", "name"), list(looked_for()))
def test_a_defect_is_found(protocol: str, name: str) -> None:
    """By a promise, by a mechanism, or by the model."""
    clusters, seed = pinned(protocol, name)
    assert found_after(protocol, defects(protocol)[name], seed, clusters=4 * clusters) is not None


CONTROLLED = [*HARMLESS, ("task-counts", "commit_incomplete")]
FIRST_CONTROL = dict(reversed(CONTROLLED))
"""Of protocols whose clusters take long, the one of every run."""


@pytest.mark.parametrize(
    ("protocol", "name"),
    [
        case(protocol, name, protocol not in EVERY_RUN and FIRST_CONTROL[protocol] != name)
        for protocol, name in CONTROLLED
    ],
)
def test_what_is_harmless_is_not_found(protocol: str, name: str) -> None:
    """By no promise; nor is what no driver brings out.  It is said why."""
    control = defects(protocol, ("nothing", "conformance"))[name]
    assert control.why or control.harmless
    assert found_after(protocol, control, 1, "promises", CONTROLS) is None


def configured() -> list[Any]:
    """For each configuration that is needed, one defect that is wrong by its code, and not by the configuration."""
    one_of_each = {
        (protocol, one.needs): (protocol, name)
        for protocol in PROTOCOLS
        for name, one in defects(protocol).items()
        if name not in WRONG_BY_ITSELF and one.parts != type(one.parts)()
    }
    return [case(protocol, name, protocol not in EVERY_RUN) for protocol, name in one_of_each.values()]


@pytest.mark.parametrize(("protocol", "name"), configured())
def test_the_correct_one_is_not_found(protocol: str, name: str) -> None:
    """With the configuration, and the seed, with which the defect is."""
    one = defects(protocol)[name]
    correct = replace(one, parts=type(one.parts)())
    assert found_after(protocol, correct, pinned(protocol, name)[1], clusters=CLUSTERS) is None


@pytest.mark.parametrize(("protocol", "name"), [each for each in BREAKING if each[1] in WRONG_BY_ITSELF])
def test_what_is_wrong_by_itself_is_found(protocol: str, name: str) -> None:
    """The correct implementation, with the configuration and the seed with which the defect is: an excuse that is not
    needed any more is taken back."""
    one = defects(protocol)[name]
    correct = replace(one, parts=type(one.parts)())
    assert found_after(protocol, correct, pinned(protocol, name)[1], clusters=CLUSTERS) is not None


@pytest.mark.nightly(nights=20)
@pytest.mark.parametrize(("protocol", "name"), [each for each in BREAKING if each[1] not in NOT_FOUND])
def test_its_program_fails_by_itself(protocol: str, name: str) -> None:
    """The failure is shrunk and names the condition or the promise that is false, unless the model has no step at all
    there; the program that is printed fails when it is pasted."""
    config = dict(defects(protocol)[name].needs)
    variant, (clusters, seed) = config.pop("mode", driven(protocol).variants[0]), pinned(protocol, name)
    implementation = f"fencepost.reference_impl.defects.{folder(protocol)}:{name}"
    report = agree(
        implementation, protocol=protocol, variant=variant, config=config, seed=seed, max_examples=4 * clusters,
        promises_only=not is_followed_in(driven(protocol), variant, config),
    )  # fmt: skip
    assert report.failure is not None
    assert report.failure.conjuncts or report.failure.promise or "the model has no such step" in str(report.failure)
    with pytest.raises(AssertionError):
        exec(report.program, {})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_each_is_reached_by_its_name(protocol: str) -> None:
    """As ``broken:<name>``, with a rule of the ledger, a docstring, and a reason where it breaks nothing."""
    broken = import_module(f"fencepost.reference_impl.defects.{folder(protocol)}")
    for name, one in broken.REGISTRY.items():
        assert getattr(broken, name) is broken.find(name) is one
        assert one.rule in RULES
        assert one.breaks is not Breaks.NOTHING or one.why or one.harmless
        parts = [getattr(one.parts, part) for part in type(one.parts).__dataclass_fields__]
        assert all(part.__doc__ for part in parts if ".defects." in getattr(part, "__module__", ""))
    known = next(iter(broken.REGISTRY))
    with pytest.raises(KeyError, match=known):
        broken.find("nonsense")
    with pytest.raises(AttributeError, match=known):
        broken.nonsense  # noqa: B018


def test_a_defect_is_one_decorated_class() -> None:
    """Its name, the part that it replaces and what it needs are known by that."""

    @defect("txn.1", PROMISE, "because", mode="v1", ids=2)
    class KeepsEpochsOf2Ids(Coordinator):
        """Wrong."""

    @defect("txn.12", NOTHING, also=(KeepsEpochsOf2Ids,))
    class OfTheLog(PartitionLog):
        """Wrong, too."""

    by_config("by_config_alone", "txn.2", PROMISE, keys=2)
    first, second, third = registry(Parts, build, __name__).values()
    assert (first.name, first.needs, first.why) == ("keeps_epochs_of_2_ids", (("mode", "v1"), ("ids", 2)), "because")
    assert first.parts == Parts(coordinator=KeepsEpochsOf2Ids)
    assert second.parts == Parts(coordinator=KeepsEpochsOf2Ids, log=OfTheLog)
    assert (third.name, third.parts) == ("by_config_alone", Parts())
    made = first({"partitions": 3})
    assert (made.env.config.mode, made.env.config.partitions, made.parts) == ("v1", 3, first.parts)


def test_what_takes_the_place_of_no_part_is_refused() -> None:
    """The message says what is missing."""

    @defect("txn.1", PROMISE)
    class Nothing:
        """No part of a cluster."""

        __module__ = "of_this_test"

    with pytest.raises(TypeError, match="Nothing takes the place of no one part"):
        registry(Parts, build, "of_this_test")
