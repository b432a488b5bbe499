"""Known bugs: each scenario fails with the bug, by the model or by a promise, and does not without it."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import pytest
from fencepost.proofs.testing.search import KNOWN_BUGS, played
from fencepost.properties.driving import Factory
from fencepost.properties.registry import folder

CASES = [(protocol, name) for protocol, bugs in KNOWN_BUGS.items() for name in bugs]


class Plain:
    """An implementation of which nothing can be reached but what the interface has."""

    def __init__(self, system: Any) -> None:
        self._system = system

    def __getattr__(self, name: str) -> Any:
        if name == "env":
            raise AttributeError(name)
        return getattr(self._system, name)


def reference(protocol: str, defect: str = "") -> Factory:
    """The reference of a protocol, or with one of its defects."""
    package = f"fencepost.reference_impl.{folder(protocol)}"
    if not defect:
        return import_module(package).reference  # type: ignore[no-any-return]
    entry = import_module(f"{package}.defects.broken").REGISTRY[defect]

    def broken(config: Mapping[str, Any]) -> Plain:
        assert dict(entry.needs).keys() <= config.keys()
        return Plain(entry(config))

    return broken


@pytest.mark.parametrize(("protocol", "name"), CASES)
def test_a_known_bug_shows_and_only_the_bug(protocol: str, name: str) -> None:
    """With the bug the same steps fail, and without it they do not."""
    assert played(protocol, name, reference(protocol, KNOWN_BUGS[protocol][name].defect)) is not None
    failure = played(protocol, name, reference(protocol), broken=False)
    assert failure is None, failure.disagreed


def test_names_are_asked_for_by_name() -> None:
    """A wrong one is told the known ones."""
    with pytest.raises(KeyError, match="no bug is known as 'KAFKA-0'; known are KAFKA-15552"):
        played("id-blocks", "KAFKA-0", reference("id-blocks"))
