"""Each step of a proof is a text that Z3 and cvc5 refute as it stands; without a lemma that it needs neither does."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cvc5
import pytest
import second_campaign
import z3
from fencepost.model.language import Nat, Properties, Protocol, action, lemma, require
from fencepost.model.language.derived.mutations import settle
from fencepost.proofs.engines.induction import Proof, prove
from fencepost.proofs.engines.obligations import Obligation, invariant
from fencepost.proofs.engines.run_engines import contradictions, result
from fencepost.proofs.engines.second import asking
from fencepost.proofs.engines.second.asking import NoSecondSolver, Z3Again, ask_cvc5, prove_by_cvc5, require_cvc5
from fencepost.proofs.engines.second.opinions import DEAD, Opinion, disagreements, left_undecided, run_second
from fencepost.proofs.engines.second.statements import Statement, is_stated, statements
from fencepost.properties.catalogue import find
from z3_protocols import Allocation, AllocationProperties, TicketLock, TicketLockProperties

SMALL = [(Allocation, AllocationProperties), (TicketLock, TicketLockProperties)]
KRAFT = "id-blocks/kraft"
OF_KRAFT = [
    Obligation("preserved", "install", "held_by_one", "holds", 0.0, "solver", ("held_by_one", "ready_by_one")),
    Obligation("preserved", "fail", "awaited_is_not_held", "holds", 0.0, "solver", ("awaited_is_not_held",)),
    Obligation("preserved", "repeat", "no_id_twice", "holds", 0.0, "unchanged"),
]
"""Steps of a large proof as that proof has them, with as few lemmas: all of it takes longer than a test should."""
OBSERVED = """
from fencepost.properties.catalogue import find
from test_second_opinion import KRAFT, OF_KRAFT, statements
entry, variant = find(KRAFT)
print("".join(s.text for s in statements(variant.spec, variant.promised, OF_KRAFT, KRAFT)), end="")
"""


def made_of(protocol, properties) -> tuple[Proof, list[Statement]]:
    """A proof, and its steps as texts."""
    spec, stated = settle(protocol.spec), properties.properties
    proof = prove(spec, stated)
    return proof, list(statements(spec, stated, proof.obligations, protocol.spec.name))


def of_kraft(obligations: list[Obligation]) -> list[Statement]:
    _, variant = find(KRAFT)
    assert variant is not None
    return list(statements(variant.spec, variant.promised, obligations, KRAFT))


@pytest.mark.parametrize(("protocol", "properties"), SMALL)
def test_both_solvers_refute_every_text(protocol, properties):
    """Also those that Z3 was never asked, since the action writes nothing that the property reads."""
    proof, texts = made_of(protocol, properties)
    assert len(texts) == sum(map(is_stated, proof.obligations)) > 0
    assert len({s.name for s in texts}) == len(texts)
    again = Z3Again()
    assert {again.ask(s.text).result for s in texts} == {"unsat"}
    assert {ask_cvc5(s.text).result for s in texts} == {"unsat"}


def test_steps_of_a_large_proof_are_refuted_too():
    """Where a number is in no argument matching finds nothing, and enumeration does."""
    again, ways = Z3Again(), {}
    for stated in of_kraft(OF_KRAFT):
        assert again.ask(stated.text).result == "unsat"
        answer = ask_cvc5(stated.text)
        assert answer.result == "unsat"
        ways[stated.says] = answer.why
    assert ways["install preserves held by one"] == "by enumeration"


def test_a_text_says_what_it_is_about():
    """In words, with the rules and the lemmas, and as SMT-LIB demands."""
    install = of_kraft(OF_KRAFT)[0]
    assert install.name == "preserved.install.held_by_one"
    lines = install.text.splitlines()
    assert lines[0] == "; id-blocks/kraft: install preserves held by one"
    assert any(line.startswith("; rules:") for line in lines)
    assert "; lemmas used: held by one, ready by one" in lines
    assert "(set-info :status unsat)" in lines
    assert "(set-logic UFLIA)" in lines
    assert lines[-1] == "(check-sat)"
    assert not any(word in install.text for word in ("assume!", "demand!"))  # the switches of a question stay there


@pytest.mark.parametrize(("place", "dropped"), [(0, "held_by_one"), (0, "ready_by_one"), (1, "awaited_is_not_held")])
def test_without_a_lemma_nothing_is_refuted(place, dropped):
    """A tampered step is none of a proof, and neither solver takes it for one."""
    whole = OF_KRAFT[place]
    assert dropped in whole.uses
    tampered = replace(whole, uses=tuple(name for name in whole.uses if name != dropped))
    [stated] = of_kraft([tampered])
    assert Z3Again().ask(stated.text).result != "unsat"
    assert ask_cvc5(stated.text, units=20_000).result != "unsat"


def test_the_bytes_are_the_same_in_another_process():
    """Whatever the seed of its hashes is."""
    here = "".join(s.text for s in of_kraft(OF_KRAFT))
    path = {"PYTHONPATH": ":".join(filter(None, sys.path)), "PYTHONHASHSEED": "7"}
    ran = subprocess.run([sys.executable, "-c", OBSERVED], capture_output=True, text=True, env=path, check=True)
    assert ran.stdout == here


class Twins(Protocol):
    """A variable and a parameter of one name."""

    level: Nat

    @action
    def climb(s, level: Nat):
        require(level > s.level)
        s.level = level


class TwinsProperties(Properties, of=Twins):
    """What is true of any number."""

    @lemma
    def something(s):
        """No level is below the ground."""
        return s.level >= 0


def test_one_name_for_two_things_is_still_one_text_for_each():
    """SMT-LIB has one table of names, and Z3 another one for each sort."""
    _, texts = made_of(Twins, TwinsProperties)
    [of_raise] = [s.text for s in texts if "(declare-fun level!chosen () Int)" in s.text]
    assert "(declare-fun level$ () Int)" in of_raise
    assert {ask_cvc5(s.text).result for s in texts} == {Z3Again().ask(s.text).result for s in texts} == {"unsat"}


def test_a_variable_of_several_and_a_parameter_of_its_name():
    """``first`` of each request, and the parameter ``first`` of the step that takes it."""
    _, variant = find("id-blocks/kraft-threads")
    step = Obligation("preserved", "swap", "no_id_twice", "holds", 0.0, "solver", ("no_id_twice",))
    [text] = [s.text for s in statements(variant.spec, variant.promised, [step], "threads")]
    declared = [line.split()[1] for line in text.splitlines() if line.startswith("(declare-fun")]
    assert len(set(declared)) == len(declared)
    assert {"first$", "first!chosen"} <= set(declared)


def test_names_are_nothing_that_a_solver_has_a_meaning_for():
    """Z3 5.4 reserves ``choice``, a field of transactions, and others may follow."""
    _, variant = find("transactions/core-v2")
    step = Obligation("preserved", "fail_over", "ended_before", "holds", 0.0, "unchanged")
    [text] = [s.text for s in statements(variant.spec, variant.promised, [step], "transactions")]
    declared = [line.split()[1] for line in text.splitlines() if line.startswith("(declare-")]
    assert {"choice$", "Txn$"} <= set(declared)
    assert [name for name in declared if not set("$!") & set(name)] == []
    assert Z3Again().ask(text).result == ask_cvc5(text).result == "unsat"


def read_by_both(text: str, context: z3.Context) -> int:
    """The assertions that Z3 and cvc5 read in a text, which neither is asked about."""
    of_z3 = len(z3.parse_smt2_string(text, ctx=context))
    terms = cvc5.TermManager()
    solver, symbols = cvc5.Solver(terms), cvc5.SymbolManager(terms)
    solver.setOption("produce-assertions", "true")
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "statement")
    while not (command := parser.nextCommand()).isNull():
        if command.getCommandName() not in ("set-info", "check-sat"):
            assert command.invoke(solver, symbols) in ("", "success\n"), str(command)
    assert len(solver.getAssertions()) == of_z3
    return of_z3


@pytest.mark.parametrize("which", second_campaign.proved())
def test_both_solvers_read_the_names_of_every_main_variant(which: str) -> None:
    """Of a step of each action, and of the whole invariant before one of them."""
    _, variant = find(which)
    assert variant is not None
    names, context = tuple(invariant(variant.promised)), z3.Context()
    before = dict.fromkeys(variant.spec.actions, ()) | {next(iter(variant.spec.actions)): names}
    asked = [Obligation("preserved", at, names[0], "holds", 0.0, "solver", uses) for at, uses in before.items()]
    for stated in statements(variant.spec, variant.promised, asked, which):
        assert read_by_both(stated.text, context) == stated.text.count("(assert ")


def judged(text: str, why: str = "") -> tuple[list[Opinion], list]:
    """Opinions of one step of kraft, and the row of it."""
    entry, variant = find(KRAFT)
    proof = Proof(tuple(OF_KRAFT), 0.0)
    asked = [Opinion(s, asking.Answer(text, 0.1, why)) for s in of_kraft(OF_KRAFT[:1])]
    return asked, run_second(entry, variant, proof, asked)


def test_what_cvc5_gives_up_on_is_reported_and_is_no_failure():
    """It is unknown, and beside the verdict."""
    asked, [row] = judged("unknown", "it has used up 7 units")
    assert (row.engine, row.property, row.verdict) == ("second-opinion", "held_by_one", "unknown")
    assert row.as_expected
    assert row.evidence["gives_up"] == [{"says": "install preserves held by one", "why": "it has used up 7 units"}]
    text = "id-blocks/kraft: cvc5 gives up on 1 of 1 obligations: install preserves held by one"
    assert left_undecided(KRAFT, asked) == [text]
    assert disagreements(KRAFT, asked) == []


def test_a_model_of_what_z3_refuted_is_a_problem():
    """The engines disagree, and the row is not as expected."""
    entry, variant = find(KRAFT)
    asked, [row] = judged("sat")
    assert (row.verdict, row.expected) == ("violated", "holds")
    proved = result(entry, variant, "held_by_one", "always", "induction", "holds", 0.1)
    assert contradictions([proved, row]) == [
        "id-blocks/kraft held_by_one: induction says it holds, second-opinion that it does not"
    ]
    assert "install preserves held by one" in disagreements(KRAFT, asked)[0]
    assert contradictions([proved, judged("unsat")[1][0]]) == []


def test_actions_that_never_happen_have_a_row():
    """Of obligations that are about no property."""
    entry, variant = find(KRAFT)
    dead = [name for name, each in variant.spec.actions.items() if each.dead]
    [stated] = of_kraft([Obligation("dead", dead[0], "", "holds", 0.0)])
    found = run_second(entry, variant, Proof((), 0.0), [Opinion(stated, asking.Answer("unsat", 0.1))])
    assert [(row.property, row.verdict) for row in found] == [(DEAD, "holds")]


def test_a_limit_that_is_too_small_decides_nothing():
    """Resources are counted, so that the same text ends in the same way everywhere."""
    [stated] = of_kraft(OF_KRAFT[:1])
    answers = [ask_cvc5(stated.text, units=300) for _ in range(2)]
    assert [a.result for a in answers] == ["unknown", "unknown"]
    assert [a.why for a in answers] == ["it has used up 300 units"] * 2
    answer, proof = prove_by_cvc5(stated.text, units=300)
    assert (answer.result, proof) == ("unknown", "")


def test_a_proof_is_one_that_a_checker_can_read(monkeypatch):
    """Without a step on trust, and without a value that cvc5 made; else that of another attempt, or none."""
    printed = iter(["(step @p1 false :rule trust)\n", "(step @p1 (= @Broker$_0 x) :rule y)\n", "(step @p1 false)\n"])
    monkeypatch.setattr(asking, "_attempt", lambda *_: ("unsat", "", None))
    monkeypatch.setattr(asking, "_printed", lambda _: next(printed, "(step @p1 false :rule trust)\n"))
    answer, proof = prove_by_cvc5("")
    assert (answer.why, proof) == ("by enumeration", "(step @p1 false)\n")
    answer, proof = prove_by_cvc5("")
    assert (answer.result, answer.why, proof) == ("unsat", "its proof has a step on trust", "")


def test_without_cvc5_the_message_says_what_to_install(monkeypatch):
    """In one line."""
    monkeypatch.setattr(asking, "find_spec", lambda _: None)
    with pytest.raises(NoSecondSolver, match=r"needs cvc5: pip install 'cvc5>=[\d.]+'$"):
        require_cvc5()


SMALLEST = "id-blocks/zookeeper"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What was kept of one variant."""
    file = tmp_path_factory.mktemp("second") / "kept.json"
    assert second_campaign.ask(file, [SMALLEST], cores=1) == 0
    return file


def test_every_step_is_asked(place: Path) -> None:
    """The row says of which model and which solvers it is."""
    [row] = json.loads(place.read_text())
    assert row["variant"] == SMALLEST and row["agrees"] == row["steps"] > 10
    assert row["gives_up"] == row["disagrees"] == []
    assert second_campaign.is_of(row, find(SMALLEST)[1])
    assert row["solvers"].startswith("Z3 ") and "cvc5" in row["solvers"]


def test_it_is_not_asked_twice(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But where the model has changed."""
    before = place.read_text()
    assert second_campaign.ask(place, [SMALLEST], cores=1) == 0
    assert capsys.readouterr().out == "" and place.read_text() == before
    [row] = json.loads(before)
    assert not second_campaign.is_of({**row, "models": "another"}, find(SMALLEST)[1])
    assert not second_campaign.is_of({**row, "code": "another"}, find(SMALLEST)[1])
    place.write_text(json.dumps([{**row, "models": "another"}]))
    second_campaign.ask(place, [SMALLEST], cores=1)
    assert "1 of 1: id-blocks/zookeeper: agrees on" in capsys.readouterr().out


def test_a_disagreement_is_reported_and_fails(place: Path) -> None:
    [row] = json.loads(place.read_text())
    place.write_text(json.dumps([{**row, "agrees": row["steps"] - 1, "disagrees": ["a step: unsat, sat"]}]))
    assert second_campaign.ask(place, [], cores=1) == 1
    page = second_campaign.page(json.loads(place.read_text()))
    assert "has a model against 1" in page and "- a step: unsat, sat" in page
    assert f"{len(second_campaign.proved()) - 1} of {len(second_campaign.proved())} variants" in page
