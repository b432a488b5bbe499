"""What the project computes is what it computed: the yardstick is complete, and the quick part of it is computed again.
All of it is within eight weeks of nights; `golden.py` says how a change that is meant is written down."""

import golden
import pytest
from detection_runs import defects
from fencepost.proofs.cli import COMMANDS
from fencepost.properties.catalogue import protocols
from fencepost.properties.conformance_spec import DRIVEN

VERIFIED = [entry.name for entry in protocols().values() if entry.verified]


def first(part: str, place: int = 1) -> set[tuple[str, str]]:
    """The protocol and another field of each line of a part."""
    return {(fields[0], fields[place]) for line in golden.recorded(part) if (fields := line.split(" | "))}


def test_every_variant_has_verdicts() -> None:
    assert first("verdicts") >= {(name, v.name) for name in VERIFIED for v in protocols()[name].variants}


def test_every_simulated_variant_has_histories() -> None:
    assert first("histories") >= {(name, one[0]) for name in VERIFIED for one in protocols()[name].simulators}


def test_every_defect_is_looked_for() -> None:
    assert first("agreement") == {(name, one) for name in DRIVEN if name in VERIFIED for one in defects(name)}


def test_every_command_is_run() -> None:
    run = {line.split()[2] for line in golden.recorded("commands") if line.startswith("$ fencepost ")}
    assert run >= set(COMMANDS)
    assert len([line for line in golden.recorded("commands") if line.startswith("exit code ")]) >= 60


@pytest.mark.parametrize("protocol", ["id-blocks", "transactions"])
def test_histories_are_equal(protocol: str) -> None:
    assert golden.recorded("histories", protocol)
    assert golden.differences("histories", protocol) == []


PARTS = [(part, name) for part in golden.PARTS for name in VERIFIED if part != "agreement" or name in DRIVEN]


@pytest.mark.nightly(nights=56)  # some of them take more than half an hour
@pytest.mark.timeout(5400)
@pytest.mark.parametrize(("part", "protocol"), [*PARTS, (golden.COMMANDS, "")])
def test_everything_is_equal(part: str, protocol: str) -> None:
    assert golden.differences(part, protocol) == []
