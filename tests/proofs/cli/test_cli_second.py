"""`prove --certificates` and `--second-opinion`: files that others can check, and what another solver says."""

import json
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from command_line import fencepost, read_json, untimed
from fencepost.proofs.engines.induction import prove
from fencepost.proofs.engines.run_engines import result
from fencepost.proofs.engines.second import asking, certificates, opinions
from fencepost.proofs.engines.second.asking import Answer, Z3Again
from fencepost.proofs.variants import Judged, with_second
from fencepost.properties.catalogue import find
from small_catalogue import small_catalogue

ZOOKEEPER = "id-blocks/zookeeper"


@contextmanager
def cvc5_says(verdict: str, of: str):
    """Another answer of cvc5 about the texts that say so."""

    def answer(text: str, units: int = 0) -> Answer:
        return Answer(verdict, 0.0, "it has used up 7 units") if of in text else Answer("unsat", 0.0)  # type: ignore[arg-type]

    with mock.patch.object(opinions, "ask_cvc5", answer):
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of certificates with both solvers' answers, and the report beside it."""
    folder = tmp_path_factory.mktemp("certificates")
    words = ("--second-opinion", "cvc5", "--certificates", folder / "dir", "--json", folder / "report.json")
    ran = fencepost("prove", ZOOKEEPER, *words)
    assert ran.code == 0, ran.err
    (folder / "printed").write_text(ran.out, encoding="utf-8")
    return folder


def test_each_step_is_a_file_that_z3_refutes(made: Path) -> None:
    """The index names each file, what it says, and what both solvers said of it."""
    index = read_json(made / "dir" / "index.json")
    files = {str(file.relative_to(made / "dir")) for file in (made / "dir").rglob("*.smt2")}
    assert files == {row["file"] for row in index["certificates"]}
    assert {str(f.relative_to(made / "dir")) for f in (made / "dir").rglob("*.cpc")} == {
        row["proof"]["file"] for row in index["certificates"]
    }
    again = Z3Again()
    for row in index["certificates"]:
        text = (made / "dir" / row["file"]).read_text(encoding="utf-8")
        assert text.startswith(f"; {ZOOKEEPER}: {row['says']}\n")
        assert again.ask(text).result == "unsat"
        assert (row["z3"]["answer"], row["cvc5"]["answer"]) == ("unsat", "unsat")
        assert row["cvc5"]["version"] == asking.require_cvc5()
    assert {row["kind"] for row in index["without"]} == {"antecedent", "enabled"}


def test_the_second_opinion_is_a_line_and_rows(made: Path) -> None:
    """Rows of their own in the report, each with its obligations as cvc5 decided them."""
    report = read_json(made / "report.json")
    rows = [row for row in report if row["engine"] == "second-opinion"]
    proved = [row["property"] for row in report if row["engine"] == "induction" and row["kind"] != "sometimes"]
    assert [row["property"] for row in rows] and {row["property"] for row in rows} == set(proved)
    assert {row["verdict"] for row in rows} == {"holds"}
    number = sum(len(row["obligations"]) for row in rows)
    printed = (made / "printed").read_text(encoding="utf-8")
    assert f"agrees on {number} of {number} obligations" in printed
    assert f"{number} statements, {number} with cvc5's proof, in " in printed


def test_the_same_model_gives_the_same_bytes(made: Path, tmp_path: Path) -> None:
    """In another run, which replaces a directory of ours, and one in which nothing is asked again."""
    folder = tmp_path / "dir"
    folder.mkdir()
    for taken_over in ("", ", 83 taken over"):
        ran = fencepost("prove", ZOOKEEPER, "--certificates", folder)
        assert ran.code == 0 and f"83 statements, 83 with cvc5's proof{taken_over}, in " in ran.out
    files = sorted(folder.rglob("*.*"))
    assert [f.relative_to(folder) for f in files] == sorted(
        f.relative_to(made / "dir") for f in (made / "dir").rglob("*.*")
    )
    texts = [f for f in files if f.suffix in (".smt2", ".cpc")]
    assert all(f.read_bytes() == (made / "dir" / f.relative_to(folder)).read_bytes() for f in texts)
    index = read_json(folder / "index.json")
    assert untimed(index)["sources"] == read_json(made / "dir" / "index.json")["sources"]
    assert [each.name for each in tmp_path.iterdir()] == ["dir"]


def test_without_cvc5_there_are_statements_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which the index and the last line say."""
    monkeypatch.setattr(asking, "find_spec", lambda _: None)
    ran = fencepost("prove", "source-offsets/merged-at-the-start", "--certificates", tmp_path / "dir")
    assert ran.code == 0
    assert "23 statements, 0 with cvc5's proof, in " in ran.out and "for its proofs, install cvc5" in ran.out
    index = read_json(tmp_path / "dir" / "index.json")
    assert {row["cvc5"]["why"] for row in index["certificates"]} == {certificates.NOT_ASKED}
    assert {row["proof"] for row in index["certificates"]} == {None}


def test_a_model_of_a_statement_is_a_disagreement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of cvc5 when it is asked for a proof, and the step is not certified."""
    monkeypatch.setattr(certificates, "prove_by_cvc5", lambda _: (Answer("sat", 0.0), ""))
    ran = fencepost("prove", "source-offsets/merged-at-the-start", "--certificates", tmp_path / "dir")
    assert ran.code == 1 and "23 on which the engines disagree" in ran.out
    assert ran.err.count("engines disagree: source-offsets/merged-at-the-start: ") == 23


def test_other_directories_are_left_alone(tmp_path: Path) -> None:
    """In one line, before anything is proved."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("dear all", encoding="utf-8")
    (tmp_path / "file").write_text("dear all", encoding="utf-8")
    for place, why in (
        ("full", "holds 'letter', which is no certificate of ours; name an empty directory"),
        ("file", "is a file; name a directory"),
        ("none/dir", "there is no directory"),
    ):
        ran = fencepost("prove", ZOOKEEPER, "--certificates", tmp_path / place)
        assert ran.code == 2
        assert why in ran.err and len(ran.err.splitlines()) == 1
    assert (tmp_path / "full" / "letter").read_text(encoding="utf-8") == "dear all"


def test_a_file_more_in_a_directory_of_ours_is_left_alone(made: Path, tmp_path: Path) -> None:
    """The one that put it there has to take it out."""
    ours = {"written_by": certificates.WRITTEN_BY, "certificates": [{"file": "a.smt2"}]}
    (tmp_path / "index.json").write_text(json.dumps(ours), encoding="utf-8")
    (tmp_path / "a.smt2").write_text("", encoding="utf-8")
    assert certificates.refusal(tmp_path) is None
    (tmp_path / "notes").write_text("", encoding="utf-8")
    assert "'notes'" in str(certificates.refusal(tmp_path))


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    """Where writing fails, what was there stays."""
    made = certificates.Certificates(texts={"p/v/a.smt2": "(check-sat)\n"})
    certificates.write(tmp_path / "dir", made, {})
    broken = certificates.Certificates(texts={"p/v/b.smt2": "", "p/v/b.smt2/c": ""})
    with pytest.raises(OSError):
        certificates.write(tmp_path / "dir", broken, {})
    assert [str(f.relative_to(tmp_path)) for f in sorted(tmp_path.rglob("*")) if f.is_file()] == [
        "dir/index.json",
        "dir/p/v/a.smt2",
    ]


def test_what_cvc5_gives_up_on_is_listed(tmp_path: Path) -> None:
    """And the exit code is that of the proof."""
    with cvc5_says("unknown", "preserves no id twice"):
        ran = fencepost("prove", ZOOKEEPER, "--second-opinion", "cvc5", "--json", tmp_path / "report.json")
    assert ran.code == 0
    assert "cvc5 gives up on: hand out preserves no id twice, since it has used up 7 units" in ran.out
    [row] = [r for r in read_json(tmp_path / "report.json") if r["verdict"] == "unknown"]
    assert row["evidence"]["gives_up"]


def test_a_disagreement_is_exit_code_1() -> None:
    """The engines disagree about a step, which is named."""
    with cvc5_says("sat", "hand out preserves no id twice"):
        ran = fencepost("prove", ZOOKEEPER, "--second-opinion", "cvc5")
    assert ran.code == 1
    assert "engines disagree: id-blocks/zookeeper: hand out preserves no id twice" in ran.err
    assert "0 not proved, 1 on which the engines disagree" in ran.out


def test_verify_has_the_second_opinion_with_each_verdict(tmp_path: Path) -> None:
    """A row a property of what is proved, by an engine of its own."""
    file = tmp_path / "report.json"
    with small_catalogue():
        ran = fencepost("verify", "id-blocks", "--second-opinion", "cvc5", "--json", file)
    assert ran.code == 0, ran.err
    assert "by second-opinion" in ran.out
    rows = [r for r in read_json(file)["results"] if r["engine"] == "second-opinion"]
    assert {(r["variant"], r["verdict"]) for r in rows} == {("zookeeper", "holds")}


def test_verify_leaves_open_what_cvc5_gives_up_on() -> None:
    """As a sentence under what is left unchecked, and as rows that are no failures."""
    entry, variant = find(ZOOKEEPER)
    assert variant is not None
    proof = prove(variant.spec, variant.promised)
    before = Judged([("heading", result(entry, variant, "no_id_twice", "always", "induction", "holds", 0.1))], ["more"])
    with cvc5_says("unknown", "preserves no id twice"):
        made = with_second(before, entry, variant, proof)
    assert made.open[0] == "more"
    assert made.open[1].startswith("id-blocks/zookeeper: cvc5 gives up on ")
    rows = [row for heading, row in made.results[1:] if heading == "heading"]
    assert [row.property for row in rows if row.verdict == "unknown"] == ["no_id_twice"]
    assert all(row.as_expected for row in rows)


def test_without_cvc5_both_commands_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is proved."""
    monkeypatch.setattr(asking, "find_spec", lambda _: None)
    for words in (("prove", ZOOKEEPER), ("verify", "id-blocks")):
        ran = fencepost(*words, "--second-opinion", "cvc5")
        assert ran.code == 2
        assert "a second opinion needs cvc5: pip install 'cvc5>=1.2'" in ran.err
        assert len(ran.err.splitlines()) == 1
