"""What a variant asks is judged: by a search or by progress, within bounds that some profile has."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from fencepost.model.language.properties import Property
from fencepost.proofs.engines import run_engines
from fencepost.properties.catalogue import PROFILES, ProtocolEntry, Variant, protocols

VARIANTS = [(entry, variant) for entry in protocols().values() for variant in entry.variants]


class Searched(Exception):
    """In place of a search that would take long."""


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of all properties that were handed to a search, which then isn't made."""
    names: list[str] = []

    def explore(spec: Any, asked: Mapping[str, Property], bounds: Mapping[str, int], **_: Any) -> None:
        names.extend(asked)
        raise Searched

    monkeypatch.setattr(run_engines, "explore", explore)
    return names


def unjudged(entry: ProtocolEntry, variant: Variant, searched: list[str]) -> Iterator[str]:
    """The names of what is asked of a variant and handed to no search, whatever the profile."""
    for profile in PROFILES:
        with pytest.raises(Searched):
            run_engines.run_features(entry, variant, profile)
    if variant.progress_bounds:
        with pytest.raises(Searched):
            run_engines.run_progress(entry, variant)
    else:
        assert run_engines.run_progress(entry, variant) == []
    return (name for name in variant.asked if name not in searched)


@pytest.mark.parametrize(("entry", "variant"), VARIANTS, ids=[f"{e.name}/{v.name}" for e, v in VARIANTS])
def test_all_that_is_asked_is_judged(entry: ProtocolEntry, variant: Variant, searched: list[str]) -> None:
    assert not list(unjudged(entry, variant, searched))


def test_progress_without_bounds_is_not_judged(searched: list[str]) -> None:
    entry = protocols()["transactions"]
    bare = replace(entry.variant("core-v2-overlapping"), progress_bounds=())
    assert set(unjudged(entry, bare, searched)) == {
        "appended_in_the_end", "told_in_the_end", "ends_in_the_end", "decided_in_the_end"
    }  # fmt: skip
