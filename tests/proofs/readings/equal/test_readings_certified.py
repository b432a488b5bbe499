"""Questions on readings are texts that cvc5 refutes and of which Ethos checks the proofs; where the two solvers do not
agree, or a proof is of another question, nothing is certified."""

from pathlib import Path
from typing import Any

import certificates_campaign
import pytest
import z3
from command_line import fencepost, read_json
from fencepost.proofs.engines.second import certified_readings, ethos
from fencepost.proofs.engines.second.asking import Answer, prove_by_cvc5
from fencepost.proofs.engines.second.certified_readings import INDEXED, UNITS, again, checker, of_statement
from fencepost.proofs.engines.second.ethos import reference
from fencepost.proofs.readings.equal.fields import BitReading
from fencepost.proofs.readings.equal.machine import Taken
from fencepost.proofs.readings.equal.obligations import Part, Readings
from fencepost.proofs.readings.ground import BoundsError
from fencepost.properties.catalogue import bounds_of, find
from second_campaign import each_variant

ETHOS = checker()
needs_ethos = pytest.mark.skipif(ETHOS is None, reason=f"there is no Ethos: {ethos.HOW_TO_GET}")
VARIANT = "task-counts/A"


def readings(name: str) -> Readings:
    _, variant = find(name)
    assert variant is not None
    return Readings(variant.spec, variant.asked, bounds_of(variant, "smoke"))


@pytest.fixture(scope="module")
def small() -> tuple[Readings, list[Part]]:
    """The questions on one action: in packed words, and in columns."""
    made = readings("id-blocks/zookeeper")
    return made, [part for _, parts in made.of_action("conflict") for part in parts]


def test_a_text_is_its_question(small: tuple[Readings, list[Part]]) -> None:
    """Read again, it asserts formulas that are equivalent to those that Z3 was asked about, under the same names."""
    made, parts = small
    assert [part.says for part in parts] == [
        f"conflict(b={b}) in {reading}" for reading in ("packed words", "columns") for b in (0, 1)
    ]
    for part in parts:
        read = z3.parse_smt2_string(made.statement(part), ctx=made.context)
        for asserted, asked in zip(read, (*made.within, part.differs), strict=True):
            solver = z3.Solver(ctx=made.context)
            solver.add(z3.Not(asserted == asked))
            assert solver.check() == z3.unsat


@needs_ethos
def test_questions_are_certified(small: tuple[Readings, list[Part]]) -> None:
    made, parts = small
    found = again(made, parts, ETHOS)
    assert (found.parts, found.rest) == (4, ())


@needs_ethos
def test_a_proof_of_another_question_is_refused(small: tuple[Readings, list[Part]], tmp_path: Path) -> None:
    assert ETHOS is not None
    made, (one, other, *_) = small
    statement, proof = tmp_path / "statement.smt2", tmp_path / "proof.cpc"
    _, printed = prove_by_cvc5(made.statement(one), UNITS)
    proof.write_text(f"{reference(statement.name)}\n{printed}")
    for of, says in ((one, "correct"), (other, "refused")):
        statement.write_text(INDEXED.sub(r"(\1 \2 ", made.statement(of)))
        assert ETHOS.check(statement, proof).says == says


def test_without_a_checker_nothing_is_certified(small: tuple[Readings, list[Part]]) -> None:
    """cvc5 agrees, and the reason names what is missing."""
    made, parts = small
    found = again(made, parts[:1], None)
    assert [standing for _, standing, _ in found.rest] == ["agreed"] and not found.contradicts
    assert "ethos" in found.rest[0][2]


def test_a_state_that_distinguishes_readings_is_found(small: tuple[Readings, list[Part]]) -> None:
    """Where the successor has another word, with no answer of Z3."""
    made, _ = small
    instance = made.by_event["conflict", (0,)]
    taken = made.taken[instance]
    made.taken[instance] = Taken(taken.where, [word + 1 for word in taken.words], taken.broken)
    try:
        wrong = next(made._parts("conflict"))
    finally:
        made.taken[instance] = taken
    assert again(made, [wrong], ETHOS).contradicts


@pytest.mark.parametrize(
    ("answer", "standing"), [("sat", "contradicted"), ("unknown", "undecided"), ("unsat", "agreed")]
)
def test_what_cvc5_answers_is_not_certified_without_a_proof(
    answer: Any, standing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certified_readings, "prove_by_cvc5", lambda *_: (Answer(answer, 0.0), ""))
    assert of_statement("(check-sat)", ETHOS)[0] == standing


def test_numbers_without_room_are_refused() -> None:
    """A sum of larger ones could wrap."""
    _, variant = find(VARIANT)
    assert variant is not None
    reading = BitReading(variant.spec, bounds_of(variant, "smoke"), {}, 15)
    assert reading.number(15).size() == reading.bits == 12
    with pytest.raises(BoundsError, match="16 has no room in 12 bits"):
        reading.number(16)


def test_the_command_has_what_the_second_solver_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In each cell, in a sentence, and in the report; where it contradicts, the exit code is 1."""
    monkeypatch.setattr(certified_readings, "checker", lambda: None)
    monkeypatch.setattr(certified_readings, "prove_by_cvc5", lambda *_: (Answer("unsat", 0.0), ""))
    command = ("prove", "id-blocks/zookeeper", "--readings", "--second-opinion", "cvc5")
    ran = fencepost(*command, "--json", tmp_path / "r.json")
    assert ran.code == 0
    lines = {" ".join(line.split()) for line in ran.out.splitlines()}
    assert "hand out proved equal, cvc5 agrees proved equal, cvc5 agrees equal, 376 steps" in lines
    assert "Of 52 questions, 0 are certified: cvc5" in ran.out
    second = [r["evidence"]["second"] for r in read_json(tmp_path / "r.json") if "second" in r["evidence"]]
    assert sum(each["parts"] for each in second) == 52 and not any(each["certified"] for each in second)
    monkeypatch.setattr(certified_readings, "prove_by_cvc5", lambda *_: (Answer("sat", 0.0), ""))
    assert fencepost(*command).code == 1


def test_a_proof_that_ethos_does_not_end_is_undecided_in_a_campaign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A check that ran out of time refuses nothing, and the next run makes it again: the machine may be idler then."""
    program, rules, statement, proof = (tmp_path / name for name in ("slow", "Cpc.eo", "statement.smt2", "proof.cpc"))
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)
    proof.write_text(f"{reference(statement.name)}\n(step @p1 :rule refl)\n")
    monkeypatch.setattr(ethos, "SECONDS", 0.1)
    slow = ethos.Ethos(program, rules).check(statement, proof)
    assert slow == ethos.Verdict("refused", "Ethos has not ended within 0.1 s")
    monkeypatch.setenv(certificates_campaign.CHECKED, str(tmp_path / "checked"))
    monkeypatch.setattr(certificates_campaign, "tools", lambda: "none")
    asked = []
    answer = slow.says, slow.why
    monkeypatch.setattr(certificates_campaign, "OF_QUESTION", lambda *given: asked.append(given) or answer)
    for _ in range(2):
        assert certificates_campaign.of_question("(check-sat)", None) == ("undecided", slow.why)
    answer = "refused", "Error: another proof"
    for _ in range(2):
        assert certificates_campaign.of_question("(check-sat)", None) == answer
    assert len(asked) == 3, "a refusal is asked for once, a time-out each time"


@needs_ethos
@pytest.mark.nightly
def test_a_campaign_certifies_the_readings_of_a_variant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row a variant, which is not made again, of questions of which none is asked again, and the page."""
    monkeypatch.setenv(certificates_campaign.CHECKED, str(tmp_path / "checked"))
    of = (certificates_campaign.of_readings, certificates_campaign.is_of_readings, certificates_campaign.said)
    [row] = each_variant(tmp_path / "a.json", ["id-blocks/zookeeper"], 1, *of)
    assert (row["steps"], row["certified"], row["rest"], row["refused"]) == (52, 52, [], [])
    assert "1 of 1: id-blocks/zookeeper: 52 of 52 certified" in capsys.readouterr().out
    assert each_variant(tmp_path / "a.json", ["id-blocks/zookeeper"], 1, *of) == [row]
    assert "52 of 52 questions (100.00 %) in 1 variants are certified" in certificates_campaign.page([], [row])
    monkeypatch.setattr(certificates_campaign, "OF_QUESTION", lambda *_: pytest.fail("is asked again"))
    assert row == {**row, **certificates_campaign.of_readings("id-blocks/zookeeper"), "seconds": row["seconds"]}
