"""Where `kafka-transactions.sh find-hanging` says otherwise than the doctor, and which of the two is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fencepost.proofs.doctor import find_hanging
from fencepost.proofs.doctor.find_hanging import KINDS, Kind, Row, as_dict, rows, sections
from fencepost.proofs.doctor.futures import Seen

VERDICTS = Path(__file__).parents[3] / "proofs" / "verdicts"
STORED = json.loads((VERDICTS / "find-hanging.json").read_text(encoding="utf-8"))
CHEAP = [kind for kind in KINDS if kind.seen.other is None and kind.version == "2"]


def by_words(kinds: list[Kind], monkeypatch: pytest.MonkeyPatch) -> dict[str, Row]:
    monkeypatch.setattr(find_hanging, "KINDS", kinds)
    return {row.kind.says: row for row in rows()}


def test_a_partition_that_the_next_transaction_has_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command asks for the partition alone, so that a later transaction of the same id hides the one that hangs.
    Otherwise the two agree, and with what is computed."""
    found = by_words(CHEAP, monkeypatch)
    missed = [says for says, row in found.items() if (row.command, row.doctor) == ("not hanging", "hanging")]
    assert missed == ["its marker is missing, the id's next transaction is in this partition too"]
    assert found.pop(missed[0]).right == "hangs"
    right = {"hangs": "hanging", "does not hang": "not hanging"}
    assert len(found) >= 4 and all(row.command == row.doctor == right[row.right] for row in found.values())


def test_the_page_has_each_kind() -> None:
    """The stored rows are of these kinds, with what the command says of them, and they are in the doctor's page."""
    mine = [(kind.says, kind.version, kind.release, find_hanging._command(kind.seen)) for kind in KINDS]
    assert [(row["kind"], row["version"], row["release"], row["command"]) for row in STORED] == mine
    text = "\n".join(sections(STORED))
    assert text.count("\n| ") == 1 + len(KINDS) and "it found a missing marker" in text
    assert text in (VERDICTS / "doctor.md").read_text(encoding="utf-8")


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_no_kind_that_hangs_is_missed_by_the_doctor() -> None:
    """What is open and gets no marker is hanging for the doctor in every kind, or can be either; so the page has it."""
    found = rows()
    assert all(row.doctor in ("hanging", "torn") for row in found if row.right == "hangs")
    assert {row.doctor for row in found if row.right == "does not hang"} <= {"not hanging", "torn"}
    assert [as_dict(row) for row in found] == STORED


def test_a_kind_of_no_model_is_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that no run reaches is nothing that hangs."""
    (row,) = by_words([Kind("impossible", Seen("ONGOING", None, 0, False, "COMMIT"))], monkeypatch).values()
    assert row.doctor == "unexplained"
