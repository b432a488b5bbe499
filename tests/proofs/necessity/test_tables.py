"""Tables of verdicts as they are kept: of which models they are, what counts as a verdict, what is judged again."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost
from fencepost.model.language.derived.mutations import mutations
from fencepost.model.rules import RULES
from fencepost.proofs.necessity import rule_removal
from fencepost.proofs.necessity.ledger import NO_VERDICT, Row, counts
from fencepost.proofs.necessity.search import Necessity, evidence_of, judge, necessity, number_of_verdicts
from fencepost.proofs.necessity.tables import (
    SavedFacts,
    digest,
    digest_of,
    is_of_these_models,
    page,
    page_of_all,
    table_of,
)
from fencepost.properties.catalogue import ProtocolEntry, protocols, whole_of
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from fencepost.properties.registry import PROTOCOLS
from fencepost.properties.transactions.variants.catalogue import TRANSACTIONS
from fencepost.properties.two_phase.variants import TWO_PHASE

ENTRIES = [entry for name, entry in protocols().items() if name in PROTOCOLS and entry.variants]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_recorded_table_is_of_these_models(entry: ProtocolEntry) -> None:
    """A table of an older hash is refused: its first paragraph has the command that makes it anew."""
    assert is_of_these_models(table_of(entry.name).read_text(encoding="utf-8"), whole_of(entry))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_recorded_table_is_that_of_what_is_recorded(entry: ProtocolEntry, tmp_path: Path) -> None:
    """The kept verdicts and sets make the kept table, word for word; none of them is judged anew.  (About 10 s.)"""
    kept, table = tmp_path / "kept.json", tmp_path / "table.md"
    kept.write_bytes(table_of(entry.name).with_suffix(".json").read_bytes())
    ran = fencepost("necessity", entry.name, "--kept", kept, "--table", table)
    assert ran.code == 0, ran.err
    made = table.read_text(encoding="utf-8").replace(str(kept), f"proofs/verdicts/{entry.name}.json")
    stored = table_of(entry.name).read_text(encoding="utf-8")
    assert made.replace(str(table), f"proofs/verdicts/{entry.name}.md") == stored
    assert kept.read_bytes() == table_of(entry.name).with_suffix(".json").read_bytes()


@pytest.mark.nightly(nights=12)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e.name)
def test_a_recorded_table_is_what_comes_out(entry: ProtocolEntry) -> None:
    """Every mutation judged anew: none survives without the reason that is declared, every row has evidence, nothing
    predicted fails to show, and the table is word for word the one that is kept."""
    entries = whole_of(entry)
    found = [n for each in entries for n in necessity(each, "smoke")]
    open_ones = [n.as_dict() for n in found if n.verdict in ("survives-bounded", "refuted") and not n.reason]
    assert open_ones == [], json.dumps(open_ones, indent=1)
    assert all(n.evidence and n.variant for n in found)
    assert page(entry, entries, found, Path(__file__).parents[2]) == table_of(entry.name).read_text(encoding="utf-8")


def test_what_changes_the_hash() -> None:
    """A bound does, a guard does, a sentence does not."""
    variant = ID_BLOCKS.variant("kraft")
    assert digest(variant) == digest(replace(variant, says="in other words"))
    assert digest(variant) != digest(replace(variant, bounds={"smoke": {**variant.bounds["smoke"], "ids": 4}}))
    assert digest(variant) != digest(replace(ID_BLOCKS.variant("kraft-answer-first"), reading=None))
    fewer = replace(ID_BLOCKS, variants=ID_BLOCKS.variants[1:])
    assert digest_of([fewer]) != digest_of([ID_BLOCKS])


def test_every_rule_has_a_verdict() -> None:
    """`fencepost list --verbose` says how many rules of each source have one."""
    ran = fencepost("list", "--verbose")
    assert ran.code == 0
    assert NO_VERDICT not in ran.out
    assert f"all: {len(RULES)} rules, {len(RULES)} with a verdict" in ran.out


def test_every_rule_is_in_one_table(tmp_path: Path) -> None:
    """A row a rule, its number alone in the first column, each with a verdict and its scope; what is kept of the models
    as they are is not searched again.  (About 20 s.)"""
    table, document = tmp_path / "all.md", tmp_path / "all.json"
    ran = fencepost("necessity", "--all", "--table", table, "--json", document)
    assert (ran.code, ran.err) == (0, "")
    rows = [line.strip("| ").split(" | ") for line in table.read_text(encoding="utf-8").splitlines()
            if line.startswith("| ") and not line.startswith("| rule |")]  # fmt: skip
    assert [row[0] for row in rows] == list(RULES)
    assert {len(row) for row in rows} == {5}
    assert [row[0] for row in rows if row[3].startswith(NO_VERDICT) or not row[4].strip()] == []
    judged = json.loads(document.read_text(encoding="utf-8"))
    assert [one for one in judged if not one["kept"]] == []
    for entry in ENTRIES:
        assert f"{entry.name}: {sum(number_of_verdicts(each) for each in whole_of(entry))} verdicts" in ran.out


def test_a_rule_without_a_verdict_is_reported() -> None:
    """Whatever else there is."""
    rule = RULES["730.7"]
    text, without = page_of_all([Row(rule, "**necessary**", "kraft"), Row(rule, NO_VERDICT, "")], {"id-blocks": "0"})
    assert "730.7" not in without and "730.8" in without
    assert f"| 730.7 | {rule.kind} | {rule.says} | **necessary** | kraft |" in text


@pytest.mark.parametrize(
    "more",
    [["id-blocks"], ["--rule", "730.7"], ["--mutations", "sets"], ["--mutations", "timing"], ["--kept", "k.json"]],
)
def test_all_is_all(more: list[str]) -> None:
    """It goes with nothing that chooses; and without it a protocol is named."""
    ran = fencepost("necessity", "--all", *more)
    assert (ran.code, ran.out) == (2, "")
    assert "leave out" in ran.err
    ran = fencepost("necessity")
    assert (ran.code, ran.out) == (2, "")
    assert "say --all" in ran.err


def test_what_counts_as_a_verdict() -> None:
    """Neither a rule that no table has, nor one that a table has without a verdict."""
    table = "| 730.P1 | promise | x | **proved** |\n| 730.P2 | promise | x | no verdict yet; held by test_x.py |\n"
    decided, others = counts({"x": table})["730"]
    assert decided == ["730.P1"]
    assert {"730.P2", "730.P3"} <= set(others)


def test_evidence_is_a_promise_of_another_number() -> None:
    """What only says the rule again is none: kraft's book that never goes back is 730.7 itself, and no promise. What is
    promised of steps is asked for apart."""
    kept = ID_BLOCKS.variant("kraft").promised
    assert set(evidence_of("730.7", kept)) == {
        n for n, p in kept.items() if p.rule in ("730.P1", "730.P2") and p.role == "promise"
    }
    assert evidence_of("730.7", kept, role="step") == evidence_of("730.16", kept, role="step") == {}
    of_steps = evidence_of("939.9", TWO_PHASE.variant("retained").promised, role="step")
    assert {"decided_once", "only_with_permission", "ends_what_it_found"} <= of_steps.keys()
    assert "no_id_twice" not in evidence_of("730.P1", kept)


def test_recorded_verdicts_are_not_searched_again(tmp_path: Path) -> None:
    """They say so, and a changed model is judged anew."""
    small = replace(ID_BLOCKS, variants=(ID_BLOCKS.variant("zookeeper"), ID_BLOCKS.variant("by-broker-id")), claims=())
    file = tmp_path / "kept.json"
    first = SavedFacts.read(file)
    found = necessity(small, "smoke", earlier=first)
    first.write(file)
    assert not any(n.kept for n in found)
    second = SavedFacts.read(file)
    again = necessity(small, "smoke", earlier=second)
    assert all(n.kept and n.evidence for n in again)
    assert [(n.rule, n.mutation, n.verdict, n.steps) for n in again] == [
        (n.rule, n.mutation, n.verdict, n.steps) for n in found
    ]
    zookeeper = small.variants[0]
    changed = replace(zookeeper, bounds={"smoke": {**zookeeper.bounds["smoke"], "restarts": 1}})
    other = necessity(replace(small, variants=(changed, small.variants[1])), "smoke", earlier=SavedFacts.read(file))
    assert {n.kept for n in other if n.variant == "zookeeper"} == {False}
    assert {n.kept for n in other if n.variant == "by-broker-id"} == {True}
    assert json.loads(file.read_text(encoding="utf-8"))
    text = page(small, [small], again, None)
    assert is_of_these_models(text, [small]) and not is_of_these_models(text, [ID_BLOCKS])


def test_a_table_is_of_all_rules(tmp_path: Path) -> None:
    """One rule's verdicts are neither a table nor all that is to be kept."""
    for option in ("--table", "--kept"):
        ran = fencepost("necessity", "id-blocks", "--rule", "730.7", option, tmp_path / "file")
        assert (ran.code, ran.out) == (2, "")
        assert "leave out --rule" in ran.err
        assert not (tmp_path / "file").exists()


def judged(variant: str, rule: str, name: str) -> Necessity:
    chosen = TRANSACTIONS.variant(variant)
    (mutant,) = [m for m in mutations(chosen.properties.protocol.spec) if (m.rule, m.name) == (rule, name)]
    return judge(chosen, mutant, "smoke")


def test_a_guard_that_stops_all_work_is_not_redundant() -> None:
    """A partition that takes no second transaction's records keeps every promise; an epoch that goes up by two serves
    as well as one that goes up by one."""
    stops = judged("core-v2", "txn.12", "append: guard 1 stricter")
    assert (stops.verdict, stops.promise) == ("liveness", "appended_in_the_end")
    serves = judged("core-v2", "txn.1", "initialize: guard 1 stricter")
    assert serves.verdict == "redundant"
    assert any(line.startswith("appended in the end: holds of ") for line in serves.evidence)


def test_work_that_never_begins_is_no_progress() -> None:
    """With room for one batch under way, a guard that is stricter by one lets none be sent: nothing waits for ever."""
    variant = whole_of(TRANSACTIONS)[1].variant("idempotent")
    (mutant,) = [m for m in mutations(variant.properties.protocol.spec) if m.name == "send: guard 1 stricter"]
    found = judge(variant, mutant, "smoke")
    assert (found.verdict, found.promise, found.steps) == ("liveness", "settled_in_the_end", None)
    assert "no state comes so far" in found.evidence[0]


def written(folder: Path, text: str) -> Path:
    """A folder of tests with one file."""
    (folder / "reference_impl").mkdir()
    (folder / "reference_impl" / "test_it.py").write_text(text)
    return folder


def test_marked_tests_are_found_without_importing_them(tmp_path: Path) -> None:
    """Several rules in a marker, several markers, other markers beside them; a number in a docstring is nothing."""
    folder = written(tmp_path, """
raise RuntimeError("this is not to be imported")

@pytest.mark.rule("730.4", "730.5")
@pytest.mark.parametrize("n", [1, 2])
def test_both(n): ...

@pytest.mark.rule("730.4")
def test_first():
    '''730.9: and this is what it is about.'''

class TestMore:
    @pytest.mark.rule("730.6")
    def test_third(self): ...

@pytest.mark.rule("730.6")
def helper(): ...
""")  # fmt: skip
    assert rule_removal.tests_of("730.4", folder) == [
        "reference_impl/test_it.py::test_both",
        "reference_impl/test_it.py::test_first",
    ]
    assert rule_removal.tests_of("730.5", folder) == ["reference_impl/test_it.py::test_both"]
    assert rule_removal.tests_of("730.6", folder) == ["reference_impl/test_it.py::test_third"]
    assert rule_removal.tests_of("730.9", folder) == []


@pytest.mark.parametrize("arguments", ["NUMBER", "*NUMBERS", "'730.4', why='so'", "7.4"])
def test_a_marker_that_cannot_be_read_is_refused(tmp_path: Path, arguments: str) -> None:
    """With file, line and what to write: what is computed cannot be read without running it."""
    folder = written(tmp_path, f"\n@pytest.mark.rule({arguments})\ndef test_it(): ...\n")
    with pytest.raises(
        ValueError, match=r"test_it\.py:2: pytest\.mark\.rule\(.*: give the numbers of rules, written out"
    ):
        rule_removal.marked(folder)


def test_without_tests_there_are_none(tmp_path: Path) -> None:
    """As in an installed package, which carries no tests."""
    assert rule_removal.tests_of("730.4", tmp_path / "tests") == []
