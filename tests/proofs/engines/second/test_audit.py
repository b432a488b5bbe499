"""A directory of certificates is believed for nothing that it says: tampered with in any way, it is refused.

Most of these tests are held with a checker that calls every proof correct, so that no checker has to be installed, and
the refusal is the audit's own. The others need Ethos.
"""

import copy
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import certificates_campaign
import pytest
from command_line import fencepost, read_json
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.second import asking, certificates
from fencepost.proofs.engines.second import ethos as of_ethos
from fencepost.proofs.engines.second.asking import Z3Again, ask_cvc5, prove_by_cvc5
from fencepost.proofs.engines.second.auditing import NoCertificates, _missing, audit, problems_of, read_index
from fencepost.proofs.engines.second.certificates import Certificates, write
from fencepost.proofs.engines.second.certified_readings import checker
from fencepost.proofs.engines.second.ethos import Ethos, foreign, reference
from fencepost.proofs.engines.second.index import INDEX, PROOF, hash_of, hash_of_index
from fencepost.proofs.engines.second.statements import needed_steps
from fencepost.proofs.readings.solver.solving import Question
from fencepost.properties.catalogue import find
from nights import night
from second_campaign import each_variant, proved

VARIANT = "source-offsets/merged-at-the-start"
STEPS = 23


ETHOS = checker()
needs_ethos = pytest.mark.skipif(ETHOS is None, reason=f"there is no Ethos: {of_ethos.HOW_TO_GET}")


def program(folder: Path, script: str) -> Ethos:
    """A checker that is a shell script, with rules that it does not read."""
    file = folder / "checker"
    file.write_text(f"#!/bin/sh\ncat > {folder}/given\n{script}\n", encoding="utf-8")
    file.chmod(0o755)
    (folder / of_ethos.TOP).write_text("", encoding="utf-8")
    return Ethos(file, folder / of_ethos.TOP)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of certificates as ``prove`` writes it."""
    folder = tmp_path_factory.mktemp("certificates") / "dir"
    entry, variant = find(VARIANT)
    assert variant is not None
    own = Certificates()
    own.add(entry, variant, prove(variant.spec, variant.promised), [], Z3Again())
    write(folder, own, {})
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "dir"))


@pytest.fixture
def credulous(tmp_path: Path) -> Ethos:
    """A checker to which every proof is right."""
    (tmp_path / "credulous").mkdir()
    return program(tmp_path / "credulous", "echo correct")


def problems(folder: Path, checker: Ethos) -> list[str]:
    index = read_index(folder)
    return [*problems_of(folder, index), *(p for v in audit(folder, index, checker, cores=2) for p in v.problems)]


def refuses_to_ask(*_: object, **__: object) -> None:
    raise AssertionError("a solver was asked")


def test_what_is_untouched_is_certified(made: Path, credulous: Ethos, monkeypatch: pytest.MonkeyPatch) -> None:
    """And Z3 is asked nothing, nor is cvc5."""
    monkeypatch.setattr("z3.Solver.check", refuses_to_ask)
    monkeypatch.setattr(asking, "_attempt", refuses_to_ask)
    [variant] = audit(made, read_index(made), credulous, cores=2)
    assert (variant.name, variant.certified, len(variant.steps), variant.problems) == (VARIANT, STEPS, STEPS, ())
    assert {promise.standing for promise in variant.promises} == {"certified"}
    assert all(0 < promise.steps <= STEPS for promise in variant.promises)


WITHOUT_SOLVERS = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("z3", "cvc5"):
            raise ImportError(f"{name} is a solver")

sys.meta_path.insert(0, Refusing())
from fencepost.proofs.cli import main
main()
"""


@pytest.mark.usefixtures("named")
def test_no_solver_is_there(made: Path, copied: Path) -> None:
    """Neither is imported: a process in which that fails audits what is untouched, and refuses what is not."""

    def audited(folder: Path) -> "subprocess.CompletedProcess[str]":
        words = [sys.executable, "-c", WITHOUT_SOLVERS, "audit", str(folder)]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    ran = audited(made)
    assert ran.returncode == 0 and f"{STEPS} of {STEPS} steps certified" in ran.stdout, ran.stderr
    weakened(copied)
    ran = audited(copied)
    assert ran.returncode == 1 and "is not what the model states" in ran.stderr


@needs_ethos
def test_ethos_calls_every_proof_correct(made: Path) -> None:
    assert ETHOS is not None
    [variant] = audit(made, read_index(made), ETHOS, cores=2)
    assert (variant.certified, variant.problems) == (STEPS, ())


@needs_ethos
@pytest.mark.nightly
def test_a_variant_of_each_night_is_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one each night; the campaign has all."""
    monkeypatch.setenv(certificates_campaign.CHECKED, str(tmp_path))
    which = random.Random(night() or 1).choice(proved())
    row = certificates_campaign.of_variant(which)
    assert row["refused"] == [] and row["certified"] >= 0.99 * row["steps"], (which, row["rest"])


def edited(folder: Path, change: Callable[[dict[str, Any]], None], *, hashed: bool = True) -> None:
    """The index after a change, with a new hash of itself."""
    index = read_json(folder / INDEX)
    change(index)
    if hashed:
        index["sha256"] = hash_of_index(index)
    (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


def rewritten(folder: Path, number: int, change: Callable[[str], str], what: str = "proof") -> None:
    """A statement or proof after a change, with all hashes made anew."""

    def apply(index: dict[str, Any]) -> None:
        row = index["certificates"][number]
        of = row if what == "statement" else row["proof"]
        text = change((folder / of["file"]).read_text(encoding="utf-8"))
        (folder / of["file"]).write_text(text, encoding="utf-8")
        of["sha256"] = hash_of(text)

    edited(folder, apply)


def row_of(folder: Path, number: int) -> dict[str, Any]:
    return dict(read_json(folder / INDEX)["certificates"][number])


def weakened(folder: Path) -> None:
    rewritten(folder, 0, lambda text: text.replace("(check-sat)", "(assert false)\n(check-sat)"), "statement")


def without_a_goal(folder: Path) -> None:
    """What is to be refuted is left out, as if nothing were claimed."""
    rewritten(folder, 0, lambda text: text[: text.rindex("(assert")] + "\n(check-sat)\n", "statement")


def missing(folder: Path) -> None:
    shutil.rmtree((folder / row_of(folder, 0)["file"]).parent)
    edited(folder, lambda index: index["certificates"].pop(0))


def missing_and_listed(folder: Path) -> None:
    """The step is said to hold without a statement."""
    row = row_of(folder, 0)
    missing(folder)
    edited(folder, lambda index: index["without"].append({**row, "verdict": "holds", "why": "it is easy"}))


def swapped(folder: Path) -> None:
    def change(index: dict[str, Any]) -> None:
        a, b = index["certificates"][:2]
        for key in ("file", "sha256", "proof"):
            a[key], b[key] = b[key], a[key]

    edited(folder, change)


def swapped_words(folder: Path) -> None:
    def change(index: dict[str, Any]) -> None:
        a, b = index["certificates"][:2]
        a["says"], b["says"] = b["says"], a["says"]

    edited(folder, change)


def other_hash(folder: Path) -> None:
    edited(folder, lambda index: index["certificates"][0].update(sha256="0" * 64))


def other_version(folder: Path) -> None:
    edited(folder, lambda index: index["certificates"][0]["cvc5"].update(version="9.9"), hashed=False)


def other_reference(folder: Path) -> None:
    rewritten(folder, 0, lambda text: text.replace("statement.smt2", "../statement.smt2", 1))


def another_lemma(folder: Path) -> None:
    """A step is said to have assumed another property, which would make it rest on that one."""
    names = {row["property"] for row in read_json(folder / INDEX)["certificates"] if row["kind"] == "preserved"}
    number, row = next((n, r) for n, r in enumerate(read_json(folder / INDEX)["certificates"]) if r["how"] == "solver")
    other = sorted(names - set(row["uses"]))[0]
    edited(folder, lambda index: index["certificates"][number]["uses"].append(other))


def no_invariant(folder: Path) -> None:
    edited(folder, lambda index: index["certificates"][0]["uses"].append("nothing_of_the_kind"))


def stated_by_none(folder: Path) -> None:
    """A step is said to be proved by steps that its property states, and it states none."""
    edited(folder, lambda index: index["certificates"][0].update(how="stated"))


def twice(folder: Path) -> None:
    edited(folder, lambda index: index["certificates"].append(copy.deepcopy(index["certificates"][0])))


def further(folder: Path) -> None:
    (folder / "README").write_text("all is well\n", encoding="utf-8")


def own_rule(folder: Path) -> None:
    rule = "(declare-rule anything ((x Bool)) :args (x) :conclusion x)\n(step @p1 false :rule anything :args (false))\n"
    rewritten(folder, 0, lambda text: text.partition("\n")[0] + "\n" + rule)


def inclusion(folder: Path) -> None:
    """After an inclusion Ethos no longer compares assumptions with the statement."""
    body = '(include "x.eo")\n(assume @p1 false)\n'
    rewritten(folder, 0, lambda text: text.partition("\n")[0] + "\n" + body)


def shadowed(folder: Path) -> None:
    """A symbol of the statement is defined anew."""
    rewritten(folder, 0, lambda text: text.replace("\n", "\n(define false () true)\n", 1))


def behind_another(folder: Path) -> None:
    """Two commands in a line."""
    rewritten(folder, 0, lambda text: text.replace("\n(step", '\n(step @p1 true :rule true) (include "x.eo")(step', 1))


def unproved(folder: Path) -> None:
    """Z3 is said to have found a model."""
    row = row_of(folder, 0)
    (folder / row["proof"]["file"]).unlink()
    edited(folder, lambda index: index["certificates"][0].update(proof=None, z3={"answer": "sat"}))


WITHOUT_A_CHECKER = {
    weakened: "is not what the model states", without_a_goal: "is not what the model states", missing: "is missing",
    missing_and_listed: "is missing", swapped: "the index names other files than its own",
    swapped_words: "the index says something else", other_hash: "has another hash than the index says",
    other_version: f"{INDEX} was edited", other_reference: "its first line is not", another_lemma: "the model",
    no_invariant: "is no invariant", stated_by_none: "no step that is stated", twice: "is there twice",
    further: "README is not in the index",
    own_rule: "is no command of a proof", inclusion: "is no command of a proof", shadowed: "is no command of a proof",
    behind_another: "is no command of a proof", unproved: "Z3 says sat",
}  # fmt: skip


@pytest.mark.parametrize("tamper", WITHOUT_A_CHECKER, ids=lambda tamper: tamper.__name__)
def test_tampering_is_refused_by_the_audit_itself(copied: Path, credulous: Ethos, tamper: Callable[[Path], None]):
    """Though all hashes are made anew, and the checker believes everything."""
    tamper(copied)
    found = problems(copied, credulous)
    assert found and any(WITHOUT_A_CHECKER[tamper] in problem for problem in found), found


def another_proof(folder: Path) -> None:
    """The right proof of another statement."""
    rows = read_json(folder / INDEX)["certificates"]
    other = next(row for row in rows if row["property"] != rows[0]["property"] and row["kind"] != rows[0]["kind"])
    text = (folder / other["proof"]["file"]).read_text(encoding="utf-8")
    rewritten(folder, 0, lambda _: text)


def truncated(folder: Path) -> None:
    rewritten(folder, 0, lambda text: text[: text.rstrip().rindex("\n") + 1])


def assumed(folder: Path) -> None:
    rewritten(
        folder, 0, lambda text: text.partition("\n")[0] + "\n(assume @p1 false)\n(step @p2 false :rule and_elim)\n"
    )


def assumed_more(folder: Path) -> None:
    """An assumption that the statement has not stands before a proof that is otherwise right."""
    rewritten(folder, 0, lambda text: text.replace("\n", "\n(assume @p900 (= 0 1))\n", 1))


def on_trust(folder: Path) -> None:
    step = "\n(step @p1 false :rule trust :args (false))\n"
    rewritten(folder, 0, lambda text: text.partition("\n")[0] + step)


BY_ETHOS = {another_proof: "refused", truncated: "refused", assumed: "not part of the referenced assertions",
            assumed_more: "not part of the referenced assertions", on_trust: "incomplete"}  # fmt: skip


@needs_ethos
@pytest.mark.parametrize("tamper", BY_ETHOS, ids=lambda tamper: tamper.__name__)
def test_tampering_is_refused_by_ethos(copied: Path, tamper: Callable[[Path], None]) -> None:
    assert ETHOS is not None
    tamper(copied)
    [found] = problems(copied, ETHOS)
    assert BY_ETHOS[tamper] in found


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo yes", "refused"), ("", "refused"), ("echo correct; exit 1", "refused"), ("echo incorrect", "refused"),
        ("echo correct correct", "refused"), ("echo incomplete", "incomplete"), ("kill $$", "refused"),
        ("sleep 30", "refused"), ("echo 'Error: no' >&2; exit 1", "refused"),
    ],
)  # fmt: skip
def test_no_other_answer_of_a_checker_certifies(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, says: str
) -> None:
    """Nor does none."""
    monkeypatch.setattr(of_ethos, "SECONDS", 1)
    row = row_of(made, 0)
    assert program(tmp_path, script).check(made / row["file"], made / row["proof"]["file"]).says == says


FALSE = "(set-logic UFLIA)\n(declare-fun x () Int)\n(assert (> x 0))\n(check-sat)\n"


def test_a_statement_that_is_false_has_no_proof() -> None:
    """Of any solver."""
    answer, proof = prove_by_cvc5(FALSE)
    assert (answer.result, proof) == ("sat", "")
    assert ask_cvc5(FALSE).result == Z3Again().ask(FALSE).result == "sat"


@pytest.mark.parametrize("answer", ["unsat", "sat", "unknown", None, 0, True])
def test_nonsense_of_a_solver_is_never_a_proof(monkeypatch: pytest.MonkeyPatch, answer: object) -> None:
    """Only Z3's own word for unsatisfiable is."""
    _, variant = find(VARIANT)
    assert variant is not None
    monkeypatch.setattr(Question, "check", lambda *_, **__: answer)
    proof = prove(variant.spec, variant.promised, counterexamples=False)
    asked = [o for o in proof.obligations if o.how == "solver"]
    assert asked and not any(o.verdict == "holds" for o in asked)


def test_lines_of_a_proof() -> None:
    """One command each, of names that cvc5 makes."""
    fine = '(define @t1 () (@list (@var "a)(b" Int)))\n(assume @p1 (>= x$ 0))\n(step-pop @p2 :rule scope)\n'
    assert foreign(fine) is None
    for line in (
        "",
        "(step p1 false :rule x)",
        "(step @p1 false",
        "(reset)",
        "(step @p1 |x| :rule y)",
        "; (step @p1 x)",
    ):
        assert foreign(fine + line + "\n" if line else "") == (4 if line else 1), line


def test_a_directory_of_something_else(
    made: Path, tmp_path: Path, credulous: Ethos, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is refused in one line, as is a machine without a checker."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(NoCertificates, match=r"has no index\.json of certificates"):
        read_index(tmp_path / "empty")
    monkeypatch.setenv(of_ethos.PROGRAM, str(credulous.program))
    monkeypatch.setenv(of_ethos.RULES, str(tmp_path))
    ran = fencepost("audit", tmp_path / "empty")
    assert ran.code == 2 and "has no index.json" in ran.err and len(ran.err.splitlines()) == 1
    ran = fencepost("audit", made)
    assert ran.code == 2 and "there are no rules of CPC in" in ran.err and len(ran.err.splitlines()) == 1
    monkeypatch.setenv(of_ethos.RULES, str(credulous.rules.parent))
    ran = fencepost("audit", made)
    assert ran.code == 2 and "is no Ethos" in ran.err and len(ran.err.splitlines()) == 1
    monkeypatch.setenv(of_ethos.PROGRAM, str(tmp_path / "none"))
    ran = fencepost("audit", made)
    assert ran.code == 2 and "there is no Ethos at" in ran.err and "build https://github.com/cvc5/ethos" in ran.err


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker in the environment that says its version, and to which every proof is right."""
    (tmp_path / "named").mkdir()
    says = 'if [ "$1" = --show-config ]; then echo "This is ethos version 0.0."; else echo correct; fi'
    monkeypatch.setenv(of_ethos.PROGRAM, str(program(tmp_path / "named", says).program))
    monkeypatch.setenv(of_ethos.RULES, str(tmp_path / "named"))


@pytest.mark.usefixtures("named")
def test_the_command_prints_a_table_and_ends_with_a_code(copied: Path, tmp_path: Path) -> None:
    """0 for what is certified, 1 for what is refused, 2 where nothing could be judged."""
    ran = fencepost("audit", copied, "--json", tmp_path / "report.json")
    assert ran.code == 0, ran.err
    assert f"{VARIANT}: {STEPS} of {STEPS} steps certified" in ran.out
    assert "certified; by Ethos 0.0, rules" in ran.out
    report = read_json(tmp_path / "report.json")
    assert report["problems"] == [] and report["variants"][0]["certified"] == STEPS
    edited(copied, lambda index: [row.update(proof=None) for row in index["certificates"]])
    for file in copied.rglob(PROOF):
        file.unlink()
    ran = fencepost("audit", copied)
    assert ran.code == 2 and "agreed by cvc5" in ran.out and "nothing could be judged" in ran.err
    missing(copied)
    ran = fencepost("audit", copied)
    assert ran.code == 1 and "refused: " in ran.err and "is missing" in ran.err


def test_what_cvc5_gives_up_on_is_proved_by_z3_alone(
    tmp_path: Path, credulous: Ethos, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the word of the directory, so that nothing of it is certified, and nothing is wrong with it."""
    monkeypatch.setattr(certificates, "prove_by_cvc5", lambda _: (asking.Answer("unknown", 0.0, "it is tired"), ""))
    entry, variant = find(VARIANT)
    assert variant is not None
    own = Certificates()
    own.add(entry, variant, prove(variant.spec, variant.promised), [], Z3Again())
    write(tmp_path / "dir", own, {})
    [audited] = audit(tmp_path / "dir", read_index(tmp_path / "dir"), credulous, cores=2)
    assert {step.step for step in audited.steps} == needed_steps(variant.spec, variant.promised)
    assert {p.standing for p in audited.promises} == {"proved by Z3 alone"} and audited.problems == ()
    assert {step.why for step in audited.rest} == {"cvc5: it is tired"}


def test_only_a_part_proves_steps_that_the_whole_does_not_state() -> None:
    """And that proof is Z3's."""
    row = {"verdict": "holds", "why": "proved of the part"}
    assert _missing(row, inherits=True) == ("proved by Z3 alone", "proved of the part")
    assert _missing(row, inherits=False) == _missing(None, inherits=True) == ("refused", "is missing")
    assert _missing({**row, "verdict": "violated"}, inherits=True)[0] == "not proved"


@pytest.mark.usefixtures("named")
def test_a_campaign_certifies_each_step_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A row a variant, of which a page is made; a statement is not proved again that another run had."""
    for cached in (certificates_campaign.ethos, certificates_campaign.tools):
        monkeypatch.setattr(certificates_campaign, cached.__name__, cached.__wrapped__)
    monkeypatch.setenv(certificates_campaign.CHECKED, str(tmp_path / "checked"))
    made = (certificates_campaign.of_variant, certificates_campaign.is_of, certificates_campaign.said)
    [row] = each_variant(tmp_path / "a.json", [VARIANT], 1, *made)
    assert (row["steps"], row["certified"], row["rest"], row["refused"]) == (STEPS, STEPS, [], [])
    assert certificates_campaign.is_of(row, find(VARIANT)[1])
    monkeypatch.setattr(certificates_campaign, "prove_by_cvc5", refuses_to_ask)
    [again] = each_variant(tmp_path / "b.json", [VARIANT], 1, *made)
    assert again["certified"] == STEPS
    assert f"1 of 1: {VARIANT}: {STEPS} of {STEPS} certified" in capsys.readouterr().out
    page = certificates_campaign.page([row], [])
    assert f"{STEPS} of {STEPS} steps (100.00 %) in 1 variants are certified" in page
    assert f"| {VARIANT} | {STEPS} | {STEPS} | none |" in page
    assert f"Not done yet: {len(proved()) - 1} of {len(proved())} variants" in page


def test_a_first_line_names_the_statement() -> None:
    assert reference("a.smt2") == '(reference "a.smt2")'
