"""The registry: what protocols bring is found in their folders, and nothing is traced before its tree is needed."""

import subprocess
import sys

import pytest
from fencepost.model.language import ModelError, Nat, Protocol, action
from fencepost.model.language.tracing.deferring import deferred
from fencepost.properties import registry
from fencepost.properties.catalogue import ENTRIES, CatalogueError, find, protocols
from fencepost.properties.conformance_spec import DRIVEN
from fencepost.properties.history.properties_of import SIGNS, properties_of
from fencepost.properties.history.vocabulary import VOCABULARIES
from fencepost.properties.registry import PROTOCOLS, Found
from fencepost.properties.seeded_violations import SEEDED_HISTORIES
from fencepost.properties.trace_spec import CONFORMING

REFUSING = """
import sys
from fencepost.model.language import properties, protocol

def refuse(cls, *_):
    raise AssertionError(f"{cls.__name__} was traced")

protocol._trace = properties.trace_properties = refuse
"""


HISTORIES_ALONE = ("end-to-end",)
"""Protocols without a model of their own: their histories are judged by properties, and nothing else is."""


@pytest.mark.parametrize(
    "table", [ENTRIES, DRIVEN, CONFORMING, SEEDED_HISTORIES, SIGNS, VOCABULARIES], ids=lambda t: t.where
)
def test_what_a_protocol_brings_is_found(table: Found[object]) -> None:
    """By the conventions that the registry states, for the protocols that are there today."""
    without = HISTORIES_ALONE if table in (DRIVEN, CONFORMING) else ()
    assert list(table) == [protocol for protocol in PROTOCOLS if protocol not in without]
    assert all(table[protocol] is not None for protocol in table)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_found_is_of_that_protocol(protocol: str) -> None:
    """A package under a name that is not its own would be held against another's model."""
    assert ENTRIES[protocol][0].name == protocol
    assert protocol in HISTORIES_ALONE or DRIVEN[protocol].protocol == protocol
    assert VOCABULARIES[protocol].protocol == properties_of(protocol).vocabulary.protocol == protocol


def test_a_protocol_that_lacks_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is left out of that table, in which looking it up fails as it does for an unknown one."""
    monkeypatch.setitem(registry.PROTOCOLS, "leases", "fencepost.properties.leases")
    assert "leases" not in DRIVEN and "leases" not in list(VOCABULARIES)
    with pytest.raises(KeyError, match="leases"):
        DRIVEN["leases"]
    with pytest.raises(KeyError, match="locks"):
        VOCABULARIES["locks"]


@pytest.mark.parametrize(
    "asking",
    [
        "from fencepost.properties.catalogue import protocols\n"
        "assert all(v.name and v.says for e in protocols().values() for v in e.variants)",
        "from fencepost.proofs.cli import fencepost\nfencepost(['list'])",
        "from fencepost.proofs.cli import fencepost\nfencepost(['list', 'id-blocks'])",
        "from fencepost.proofs.cli import fencepost\nfencepost(['record', '--help'])",
        "from fencepost.proofs.cli import fencepost\nfencepost(['agree', '--help'])",
    ],
    ids=["names", "list", "list a protocol", "help of record", "help of agree"],
)
def test_names_trace_no_protocol(asking: str) -> None:
    """Tracing all of them takes seconds, which names and help texts need not wait for."""
    done = subprocess.run([sys.executable, "-c", REFUSING + asking], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_name_that_is_not_there() -> None:
    """It is refused, with where those are that there are, or with the nearest."""
    with pytest.raises(CatalogueError, match="no protocol 'raft'; fencepost list names all"):
        find("raft")
    assert find("idempotence")[0] is protocols()["idempotence"]


def test_deferred_tracing_fails_where_the_tree_is_read() -> None:
    """A mistake is reported as it is of a class that is traced at once, whenever the tree is asked for."""
    with deferred():

        class Late(Protocol):
            count: Nat

            @action
            def count_up(s) -> None:
                return s.count + 1

    for _ in range(2):
        with pytest.raises(ModelError, match="count_up returns a value"):
            _ = Late.spec
