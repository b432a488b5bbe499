"""Each command does its work: exit code, words, and the fields that scripts rely on."""

from pathlib import Path

import click
import pytest
from command_line import fencepost, read_json, untimed
from fencepost.proofs.cli import COMMANDS
from fencepost.proofs.cli import fencepost as group
from fencepost.proofs.cli.agree import unreached
from fencepost.proofs.cli.prove import Aloud
from fencepost.proofs.cli.shared.output import folder_of_tests, in_columns, wrapped
from fencepost.proofs.engines.obligations import Obligation
from fencepost.proofs.necessity.rule_removal import STORED
from fencepost.properties.catalogue import find, protocols
from fencepost.properties.history.properties_of import properties_of
from fencepost.properties.nearest import in_words, underscored
from metadata_logs import real_logs
from rich.console import Console

MOST_OPTIONS = 57
NAMES = read_json(Path(__file__).parent / "as_of_5b03e08" / "names.json")
"""Of protocols, variants and properties as they were at that commit, which can be named still."""


@pytest.fixture(scope="module")
def histories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six simulated histories."""
    made = tmp_path_factory.mktemp("cli") / "made"
    ran = fencepost("generate", "id-blocks/kraft", made, "--histories", 6, "--config", "events=100")
    assert ran.code == 0, ran.err
    return made


def test_help_names_every_command_in_a_line() -> None:
    """The first thing a newcomer reads: each command with a sentence that is not cut off."""
    ran = fencepost("--help")
    assert ran.code == 0
    lines = ran.out.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
    assert tuple(line.split()[0] for line in lines) == COMMANDS
    assert all(line.endswith(".") and not line.endswith("...") and len(line) <= 80 for line in lines)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_each_command_explains_every_option(command: str) -> None:
    """No option stands there without a word on it, and options of one name mean one thing."""
    found = group.get_command(click.Context(group), command)
    assert found is not None
    assert found.help
    options = [p for p in found.params if isinstance(p, click.Option)]
    assert all(option.help for option in options), [o.name for o in options if not o.help]
    silent = ("show", "explorer", "validate", "list", "export", "record", "schema", "new", "language", "desk")
    assert {o.opts[0] for o in options} >= ({"--json"} if command not in silent else set())
    assert all(o.default == 1 for o in options if o.name == "seed")


def test_there_are_few_options() -> None:
    """Distinct names over all commands."""
    commands = [group.get_command(click.Context(group), name) for name in COMMANDS]
    options = [p for each in commands if each is not None for p in each.params if isinstance(p, click.Option)]
    assert len({name for option in options for name in (*option.opts, *option.secondary_opts)}) <= MOST_OPTIONS


@pytest.mark.parametrize("protocol", NAMES["variants"])
def test_protocols_variants_and_properties(protocol: str) -> None:
    """Each is found under its name, and each property in some variant, as it is printed."""
    assert [find(f"{protocol}/{name}")[1] for name in NAMES["variants"][protocol]].count(None) == 0
    there = {n for v in protocols()[protocol].variants for n in v.properties.properties}
    assert {underscored(in_words(name)) for name in NAMES["properties"][protocol]} <= there


@pytest.mark.parametrize("protocol", NAMES["history properties"])
def test_history_properties(protocol: str) -> None:
    """Those that `--check` and `--require` name."""
    assert set(NAMES["history properties"][protocol]) <= set(properties_of(protocol).names)


def test_version() -> None:
    """The version of the distribution."""
    ran = fencepost("--version")
    assert (ran.code, ran.out.startswith("fencepost, version ")) == (0, True), ran.err


def test_list_goes_from_protocols_to_rules() -> None:
    """Protocols; variants, bounds and known bugs; actions with the rules they encode; mutations by name."""
    listed = fencepost("list").out.splitlines()
    assert [line.split()[0] for line in listed if not line.startswith(" ")] == list(protocols())
    of_protocol = fencepost("list", "id-blocks").out
    assert "kraft-answer-first" in of_protocol
    assert "KAFKA-15552" in of_protocol
    of_variant = fencepost("list", "id-blocks/kraft").out
    assert "    needs  first[r] + size <= committed  [730.7]" in of_variant.splitlines()
    assert "promise no id twice  [730.P1]:" in of_variant
    assert "730.7   answer: guard 1 dropped" in fencepost("list", "id-blocks", "--verbose").out


@pytest.mark.parametrize(("words", "indent"), [(["list"], 0), (["list", "transactions"], 4)])
def test_list_lays_out_columns(words: list[str], indent: int) -> None:
    """All text begins in one column of its table, right of the longest name, and no line is wider than 120."""
    lines = fencepost(*words).out.splitlines()
    assert max(map(len, lines)) <= 120
    names = [*protocols()] if not indent else [variant.name for variant in protocols()["transactions"].variants]
    text = indent + max(map(len, names)) + 2
    rows = lines if not indent else lines[1 : lines.index("known bugs")]
    assert [row[indent:text].rstrip() for row in rows if row[indent] != " "] == names
    assert len(rows) > len(names), "some text is long enough to be wrapped"
    assert {row[text - 2 : text] for row in rows} == {"  "} and " " not in {row[text] for row in rows}


def test_text_is_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for words that are wider, and has some room in the narrowest."""
    monkeypatch.setattr("fencepost.proofs.cli.shared.output.console", Console(force_terminal=True, width=40))
    words = "one two three four five six seven eight nine ten"
    assert [*in_columns([("a", words), ("name", "x")])] == [
        "a     one two three four five six seven",
        "      eight nine ten",
        "name  x",
    ]
    assert [len(line) for line in in_columns([("n" * 50, words)])] == [75, 76]
    assert wrapped("", "head ") == ["head"]


def test_what_needs_the_tests_says_so_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As in an installed package, which has none, and what is stored instead; here it does not say it."""
    assert STORED not in fencepost("list", "--verbose").out
    monkeypatch.setattr("fencepost.proofs.necessity.rule_removal.TESTS", tmp_path / "tests")
    assert fencepost("list", "--verbose").out.splitlines()[-1] == STORED
    monkeypatch.chdir(tmp_path)
    assert (folder_of_tests(), capsys.readouterr().err) == (None, STORED + "\n")
    (tmp_path / "tests").mkdir()
    assert (folder_of_tests(), capsys.readouterr().err) == (Path("tests"), "")


def test_prove_says_one_line_a_promise(tmp_path: Path) -> None:
    """What each promise rests on, all lemmas in one line, and the results of `verify` in JSON."""
    ran = fencepost("prove", "id-blocks/zookeeper", "--json", tmp_path / "proof.json")
    assert ran.code == 0, ran.err
    lines = [line.split("  ") for line in ran.out.splitlines()]
    reported = {line[2]: line[-1].strip() for line in lines if len(line) > 3}
    assert reported["disjoint blocks"] == "holds, resting on granted is booked, read is of this version, versions go up"
    assert reported["every action can happen"] == "reached"
    assert sum("lemmas" in line for line in reported) == 1
    assert "preserves" not in ran.out
    assert ran.out.splitlines()[-1].endswith(" properties, 0 not proved")
    results = read_json(tmp_path / "proof.json")
    assert {r["engine"] for r in results} == {"induction"}
    assert {r["verdict"] for r in results} == {"holds"}
    assert len(ran.out.splitlines()) < len(results)


def test_prove_reads_the_proof_aloud(tmp_path: Path) -> None:
    """A few lines an action, if asked for: what went alike together; in JSON every obligation by itself."""
    ran = fencepost("prove", "id-blocks/zookeeper", "--verbose", "--json", tmp_path / "proof.json")
    assert ran.code == 0, ran.err
    of_write = ran.out.partition("\n    write\n")[2].partition("can happen")[0]
    assert "preserves" in of_write and "disjoint blocks" in of_write and " … ok " in of_write
    every = [o for r in read_json(tmp_path / "proof.json") for o in r["obligations"]]
    assert {"write preserves disjoint blocks", "init satisfies no id twice", "write can happen"} <= {
        o["says"] for o in every
    }
    assert {o["verdict"] for o in every} == {"holds"}
    assert len(ran.out.splitlines()) < len(every)


def test_prove_reads_aloud_what_is_not_met() -> None:
    """An obligation that fails has a line of its own, with its verdict; the others of that action stay together."""
    aloud = Aloud()
    met = [Obligation("preserved", "take", name, "holds", 0.5) for name in ("no_id_twice", "disjoint_blocks")]
    for o in (*met, Obligation("preserved", "take", "held_by_one", "violated", 1.0)):
        assert list(aloud.takes(o)) == []
    other = Obligation("enabled", "ask", "", "unknown", 0.1)
    assert list(aloud.takes(other)) == [
        "    take",
        "        preserves 2 properties … ok 1.0 s",
        "            no id twice, disjoint blocks",
        "        take preserves held by one … [red]violated[/]",
    ]
    assert list(aloud.rest()) == ["    ask", "        ask can happen … [yellow]unknown[/]"]


def test_explore_pins_the_yardstick(tmp_path: Path) -> None:
    """The counts that TLC, SPIN and plain Python agree on."""
    bounds = ("--bound", "workers=2", "--bound", "tasks=2", "--bound", "log=3")
    ran = fencepost("explore", "kip618-yardstick", *bounds, "--json", tmp_path / "found.json")
    assert ran.code == 0, ran.out + ran.err
    found = read_json(tmp_path / "found.json")
    assert (found["distinct"], found["generated"], found["depth"]) == (631_237, 5_879_559, 32)
    assert found["seconds"] > 0
    assert set(found["verdicts"].values()) <= {"holds", "violated", "unknown"}


def test_explore_finds_what_is_predicted(tmp_path: Path) -> None:
    """A violation that the documents predict is as expected: exit code 0, the trace in JSON."""
    ran = fencepost("explore", "id-blocks/by-broker-id", "--json", tmp_path / "found.json")
    assert ran.code == 0, ran.out + ran.err
    found = read_json(tmp_path / "found.json")
    assert {"distinct", "generated", "depth", "seconds", "compile_seconds", "verdicts"} <= set(found)
    assert found["compile_seconds"] > 0
    assert found["verdicts"]["no_id_twice"] == "violated"
    assert len(found["traces"]["no_id_twice"]) == 3


def test_explore_reports_an_unreached_witness() -> None:
    """Bounds of one's own that are too small for a witness say nothing of the protocol: exit code 0."""
    ran = fencepost("explore", "id-blocks/zookeeper", "--bound", "ids=0")
    assert ran.code == 0
    assert "    a second block in use              not reached" in ran.out.splitlines()


def test_necessity_of_one_rule(tmp_path: Path) -> None:
    """Its mutations and the rejected variant about it, with the fields that scripts rely on, and a table."""
    ran = fencepost("necessity", "id-blocks", "--rule", "730.10", "--json", tmp_path / "n.json")
    assert ran.code == 0, ran.err
    found = read_json(tmp_path / "n.json")
    assert [(n["mutation"], n["verdict"], n["promise"], n["steps"]) for n in found] == [
        ("omitted", "necessary", "persisted_once", 8),
        ("start_of_block", "necessary", "persisted_once", 8),
        ("the snapshot carries the latest block's first id", "shown", "persisted_once", 8),
    ]
    contract = {"rule", "mutation", "verdict", "promise", "engine", "steps", "bound", "evidence"}
    assert all(contract <= set(n) and n["engine"] == "explore" and n["evidence"] for n in found)


def test_agree_with_the_reference(tmp_path: Path) -> None:
    """The reference implementation is what is driven if none is named; five further clusters, as five take not all
    actions."""
    ran = fencepost("agree", "id-blocks", "--examples", 5, "--json", tmp_path / "a.json")
    assert ran.code == 0, ran.err
    assert "fencepost.reference_impl.systems.id_blocks:reference against id-blocks/kraft, seed 1: holds" in ran.out
    reported = read_json(tmp_path / "a.json")
    assert (reported["verdict"], reported["examples"], reported["program"]) == ("holds", 10, "")
    decisive = reported["never"]["guards never decisive"]
    words = "guards that were never alone in the way: the model without one would agree as well"
    assert f"    {words}: {len(decisive)}, of " in ran.out
    assert "    --verbose prints each of these guards, and --json has them\n" in ran.out
    assert not any(guard in ran.out for guard in decisive)
    ran = fencepost("agree", "id-blocks", "--examples", 5, "--verbose")
    assert decisive and f"    {words}: {'; '.join(decisive)}\n" in ran.out
    assert "--verbose" not in ran.out


def test_what_was_left_untried_is_counted_by_action() -> None:
    """Every action that no run took by its name, and of the guards how many, those of the most first."""
    guards = [
        f"{action}: guard {n}"
        for action, count in zip("abcdefghijk", [1] * 10 + [3], strict=True)
        for n in range(count)
    ]
    reported = list(
        unreached({"actions": list("abcdefghijklm"), "guards never true": guards, "guards never false": []})
    )
    assert [line.rpartition(": ")[2] for line in reported[:-1]] == [
        "a; b; c; d; e; f; g; h; i; j; k; l; m",
        "13, of k (3), a (1), b (1), c (1), d (1), e (1), f (1), g (1), 3 more",
    ]


def test_agree_shows_what_is_predicted(tmp_path: Path) -> None:
    """In v1 late copies break promises: that is no failure, and the programs are printed; unless nothing is
    expected."""
    asked = ("agree", "transactions/v1", "--examples", 20, "--promise", "all", "--json", tmp_path / "a.json")
    ran = fencepost(*asked)
    assert ran.code == 0
    assert "(its promises only; model: none)" in ran.out
    assert "as predicted of v1: txn.P" in ran.out
    result = read_json(tmp_path / "a.json")
    assert (result["protocol"], result["model"], result["verdict"]) == ("transactions", "none", "holds")
    assert all(rule.startswith("txn.P") and "assert" in program for rule, program in result["predicted"].items())
    assert fencepost(*asked, "--expecting", "none").code == 1


def test_agree_prints_a_program_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An implementation of the working directory is found there; its mistake comes as Python that can be pasted."""
    (tmp_path / "half_right.py").write_text(
        "from fencepost.reference_impl.defects.id_blocks import find\n\n"
        "def cluster(config):\n    return find('answers_before_commit')(config)\n"
    )
    monkeypatch.chdir(tmp_path)
    ran = fencepost("agree", "id-blocks/kraft", "--implementation", "half_right:cluster", "--json", "a.json")
    assert ran.code == 1, ran.err
    reported = read_json(tmp_path / "a.json")
    assert reported["verdict"] == "violated"
    assert reported["program"].strip() in ran.out
    with pytest.raises(AssertionError):
        exec(compile(reported["program"], "program", "exec"), {"__name__": "pasted"})


def test_replay_of_simulated_histories(histories: Path, tmp_path: Path) -> None:
    """Everything holds, each property judged something, and conformance is among them."""
    ran = fencepost("replay", histories, "--cores", 1, "--json", tmp_path / "r.json")
    assert ran.code == 0, ran.err
    report = read_json(tmp_path / "r.json")
    assert {"events", "histories", "pieces", "violations", "unknown", "events_per_second"} <= set(report)
    assert (report["events"], report["histories"], report["violations"], report["unknown"]) == (600, 6, {}, {})
    assert report["judged"]["conformance"] == 6
    assert ran.out.splitlines()[1] == "0 of 9 properties are violated, 9 hold; conformance holds in all histories"


def test_replay_finds_a_seeded_defect(tmp_path: Path) -> None:
    """Exit code 1, and the first witness of each property with the events in words."""
    made = tmp_path / "made"
    config = ("--config", "events=300", "--config", "broken=answers_before_commit")
    assert fencepost("generate", "id-blocks/kraft", made, "--histories", 40, *config).code == 0
    ran = fencepost("replay", made, "--no-conformance", "--json", tmp_path / "r.json")
    assert ran.code == 1
    report = read_json(tmp_path / "r.json")
    assert set(report["violations"]["answered_after_commit"]) == {"count", "first"}
    assert "answered after commit        violated" in ran.out
    assert "conformance" not in ran.out


@pytest.mark.parametrize("name", ["ids_unique", "ids unique"])
def test_replay_of_one_property(histories: Path, name: str) -> None:
    """--check leaves out the others; a property is named as it is printed, or as it stands in the code."""
    ran = fencepost("replay", histories, "--no-conformance", "--check", name, "--require", name)
    assert ran.code == 0
    assert [ran.out.splitlines()[1], *ran.out.splitlines()[3:]] == [
        "0 of 1 property is violated, 1 holds", "    holds: ids unique"
    ]  # fmt: skip
    ran = fencepost("replay", histories, "--check", "ids uniqe")
    assert (ran.code, ran.err.split("; ")[1]) == (
        2,
        "did you mean ids unique? a replay without that option names all 9\n",
    )


@pytest.mark.parametrize("name", ["disjoint blocks", "disjoint_blocks"])
def test_a_promise_is_named_as_it_is_printed(name: str, tmp_path: Path) -> None:
    """By `show`; and by `agree`, where the promise of a property is meant, as by the number of its rule."""
    assert "disjoint blocks: " in fencepost("show", "id-blocks/by-broker-id", name).out
    files = [tmp_path / "number.json", tmp_path / "name.json"]
    for promise, file in zip(("txn.P1", "no zombie write"), files, strict=True):
        asked = ("agree", "transactions/v2", "--examples", 2, "--promise", promise)
        ran = fencepost(*asked, "--json", file)
        assert ran.code == 0 and "(txn.P1 only; model: none)" in ran.out
    assert untimed(read_json(files[0])) == untimed(read_json(files[1]))


def test_record_then_replay(tmp_path: Path) -> None:
    """A real cluster's logs become a history that replays, and says what it cannot know."""
    nodes = real_logs(tmp_path)
    out = tmp_path / "recorded"
    words = ("--clients", tmp_path / "clients.jsonl", "--config", "kafka_version=4.3.1")
    ran = fencepost("record", *nodes, *words, "--out", out)
    assert ran.code == 0, ran.err
    assert ran.err == f"written to {out}; check it with: fencepost replay {out}\n"
    ran = fencepost("replay", out, "--verbose", "--json", tmp_path / "r.json")
    assert ran.code == 0, ran.out + ran.err
    unknown = read_json(tmp_path / "r.json")["unknown"]
    assert unknown["answers_disjoint"] == "the histories do not show answer_sent"
    assert "answers disjoint             unknown: the histories do not show answer_sent" in ran.out


def test_simulate_tells_a_run_and_says_when_it_found_none(tmp_path: Path) -> None:
    """A mistake that plain walks meet comes with its run; that nothing broke is no verdict, and told so."""
    name = "kip618-yardstick/any-writer"
    found = fencepost("simulate", name, "--aim", "plain", "--json", tmp_path / "w.json")
    assert (found.code, "counts match broke" in found.out) == (0, True)
    document = read_json(tmp_path / "w.json")
    assert document["promise"] == "counts_match" and len(document["run"]) >= 6 and document["seed"] == 1
    missed = fencepost("simulate", name, "--aim", "plain", "--steps", 20)
    assert missed.code == 0 and "this variant has one, which explore finds" in missed.out
