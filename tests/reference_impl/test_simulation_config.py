"""Configurations: what a key's annotation allows is what it takes, and every refusal names key, value and remedy."""

from dataclasses import dataclass
from typing import Annotated

import pytest
from fencepost.reference_impl.simulation.config import AtMost, Configuration, Natural, OneOf, Positive, Rate, split


@dataclass(frozen=True, slots=True)
class Lease(Configuration):
    mode: Annotated[str, OneOf("short", "long")] = "short"
    holders: Positive = 2
    spare: Natural = 0
    drop: Rate = 0.1
    epoch: Annotated[int, AtMost(7, "epochs are three bits")] = 3
    strict: bool = False
    names: tuple[str, ...] = ()

    def relate(self) -> None:
        if len(self.names) > self.holders:
            raise ValueError("more names than holders")


@dataclass(frozen=True, slots=True)
class LongLease(Lease):
    mode: Annotated[str, OneOf("long")] = "long"
    until_ms: Natural = 5


def test_defaults_and_lists_as_tuples():
    assert Lease.parse({}) == Lease()
    assert Lease.parse({"names": ["a", "b"], "drop": 1, "mode": "long"}) == Lease("long", names=("a", "b"), drop=1)
    assert LongLease.parse({}).mode == "long" and LongLease.parse({}).until_ms == 5


@pytest.mark.parametrize(
    ("config", "reported"),
    [
        ({"mode": "middle"}, "config mode='middle': must be one of short, long"),
        ({"mode": 3}, "config mode=3: must be one of short, long"),
        ({"holders": 0}, "config holders=0: must be at least 1"),
        ({"holders": "2"}, "config holders='2': must be a whole number"),
        ({"holders": True}, "config holders=True: must be a whole number"),
        ({"spare": -1}, "config spare=-1: must be at least 0"),
        ({"drop": "often"}, "config drop='often': must be a number"),
        ({"drop": 1.5}, "config drop=1.5: a share, or a probability, the greatest is 1"),
        ({"epoch": 8}, "config epoch=8: epochs are three bits, the greatest is 7"),
        ({"strict": 1}, "config strict=1: must be True or False"),
        ({"names": "ab"}, "config names='ab': must be a list"),
        ({"names": ["a", "b", "c"]}, "more names than holders"),
        ({"colour": 1, "holders": 0}, "config has unknown keys ['colour']: known are ['drop', 'epoch', 'holders',"),
    ],
)
def test_what_is_refused(config, reported):
    with pytest.raises(ValueError) as error:
        Lease.parse(config)
    assert str(error.value).startswith(reported)


def test_an_inherited_key_is_checked_by_its_newest_annotation():
    with pytest.raises(ValueError, match="must be one of long"):
        LongLease.parse({"mode": "short"})


def test_several_configurations_in_one_mapping():
    @dataclass(frozen=True, slots=True)
    class Other(Configuration):
        holders: Positive = 1
        other: Natural = 0

    assert split({"other": 4, "strict": True, "holders": 5}, Lease, Other) == [
        {"strict": True, "holders": 5},
        {"other": 4, "holders": 5},
    ]
    with pytest.raises(ValueError, match=r"unknown keys \['colour'\]: known are \['drop', .*'other'"):
        split({"colour": 1}, Lease, Other)
