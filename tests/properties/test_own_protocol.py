"""A protocol of one's own, as a user has it: `tests/lock`, a package that no file of fencepost names, through every
command; and what is said of a package that lacks something."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from command_line import Ran, fencepost, process, read_json
from fencepost.proofs.necessity import keeping, killers, proof_mutants
from fencepost.proofs.testing import agree
from fencepost.properties import registry
from own_protocols import taken_back

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "tests/lock"
NAME = "tests.lock"
KNOWN = [name for name in registry.PROTOCOLS if name != NAME.rpartition(".")[2]]
"""Those of fencepost's own."""


@pytest.fixture(autouse=True, scope="module")
def restored() -> Iterator[None]:
    """The rules that other tests count are as they were before."""
    with taken_back():
        yield


@pytest.fixture(autouse=True)
def apart() -> Iterator[None]:
    """Each test has the protocols of before."""
    with mock.patch.dict(registry.PROTOCOLS), mock.patch.dict(os.environ):
        yield


def words(ran: Ran, code: int = 0) -> str:
    """What a command printed, with single spaces, when it ended as it should."""
    assert ran.code == code, ran.out + ran.err
    return " ".join(ran.out.split())


def test_it_is_a_small_package_that_nothing_names() -> None:
    """Sixty lines of rules and promises; and no other file of Python knows of it, but this one, and those
    about the system of which it is a part in `tests/audited`."""
    lines = {file.stem: len(file.read_text(encoding="utf-8").splitlines()) for file in LOCK.glob("*.py")}
    assert lines["model"] <= 90 and lines["claims"] <= 90, lines
    naming = [
        path.relative_to(ROOT).as_posix()
        for folder in ("model", "properties", "reference_impl", "proofs", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if LOCK not in path.parents and (NAME in (text := path.read_text(encoding="utf-8")) or "tests/lock" in text)
    ]
    assert sorted(naming) == [
        "tests/audited/__init__.py",
        "tests/audited/simulator.py",
        "tests/proofs/scale/test_history_sets.py",
        "tests/proofs/scale/test_violating_rows.py",
        "tests/properties/test_own_protocol.py",
        "tests/test_wheel.py",
    ]


def test_runs_of_its_model_are_histories(tmp_path: Path) -> None:
    """As it says what its steps show: they hold, and each fits the model."""
    made, report = tmp_path / "made", tmp_path / "report.json"
    words(fencepost("generate", f"{NAME}/fenced", made, "--from", "model", "--histories", 300, "--steps", 20))
    words(fencepost("replay", made, "--protocol", NAME, "--require", "all", "--json", report))
    found = read_json(report)
    assert found["judged"]["conformance"] == found["histories"] == 300
    assert found["judged"]["writes_in_order"] > 0


def test_readme_shows_lines_of_it() -> None:
    """As they stand in its files."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    block = readme[readme.index("## A protocol of your own") :].split("```python\n")[1].split("```")[0]
    for line in block.splitlines():
        code, _, comment = line.partition("  # ")
        assert code.strip() in (LOCK / comment.partition(":")[0]).read_text(encoding="utf-8")


def test_list() -> None:
    """With its variants, bounds, mutations, and as a table of rules; and beside the others once it was named."""
    assert "unfenced the store takes every write [lock.3]" in words(fencepost("list", NAME))
    assert "needs stored <= held[c] [lock.3]" in words(fencepost("list", f"{NAME}/fenced"))
    assert "fenced lock.3 write: guard 1 dropped" in words(fencepost("list", NAME, "--verbose"))
    assert "lock A lock with fencing tokens" in words(fencepost("list"))


def test_prove() -> None:
    """By induction; and of which files the verdict is."""
    reported = words(fencepost("prove", f"{NAME}/fenced"))
    assert f"read lock/model.py and 6 more in {ROOT / 'tests'}, hash" in reported
    assert "tokens unique holds, resting on held is issued" in reported


def test_explore_and_show() -> None:
    """A complete search, and the shortest run of the mistake."""
    assert "81 states" in words(fencepost("explore", f"{NAME}/fenced"))
    reported = words(fencepost("show", f"{NAME}/unfenced", "newest stays"))
    assert "5 write(client 1) stored = 1 It is broken after 5 steps, and not in fewer: stored is not newest" in reported
    assert "What fails: stored = newest. There stored is 1, newest is 2." in reported


def test_necessity() -> None:
    """Without tokens that grow, or without the store's look at them, a promise fails; that one client at a time has
    the lock is not needed for any."""
    reported = words(fencepost("necessity", NAME))
    assert "lock.1 fenced acquire: guard 1 dropped necessary: tokens unique fails in 3 steps" in reported
    assert "lock.2 fenced acquire: guard 1 dropped redundant" in reported
    assert "lock.3 fenced write: guard 1 dropped necessary: newest stays fails in 5 steps" in reported


def test_simulate() -> None:
    """Random walks come to the mistake."""
    assert "newest stays broke" in words(fencepost("simulate", f"{NAME}/unfenced"))


def test_mutants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs that are kept beside it are all that there are; a file is written if that is asked for, and it would
    mean something else."""
    folder = tmp_path / "kept"
    shutil.copytree(LOCK / "kept", folder)
    for module in (killers, keeping, proof_mutants):
        monkeypatch.setattr(module, "folder_of", lambda _: folder)
    file, proved = folder / "killers-fenced.json", folder / "refusals-fenced.json"
    runs = json.loads(file.read_text())
    file.write_text(json.dumps([*reversed(runs)], indent=3))
    proved.write_text(json.dumps(json.loads(proved.read_text()), indent=3))
    other = {each: (each.read_text(), each.stat().st_mtime_ns) for each in folder.iterdir()}
    reported = words(fencepost("mutants", NAME, "--write"))
    assert "3 runs, 0 of them new" in reported and "written" not in reported and "--write" not in reported
    assert {each: (each.read_text(), each.stat().st_mtime_ns) for each in folder.iterdir()} == other
    file.write_text(json.dumps(runs[1:]))
    reported = words(fencepost("mutants", f"{NAME}/fenced"))
    assert f"with --write it would change: {file}" in reported and str(proved) not in reported
    assert json.loads(file.read_text()) == runs[1:]
    assert f"written: {file}" in words(fencepost("mutants", f"{NAME}/fenced", "--write"))
    assert {run["property"] for run in json.loads(file.read_text())} == {run["property"] for run in runs}
    assert proved.read_text() == other[proved][0]


def test_agree() -> None:
    """The reference is followed to the end; the defect is found, with a program that fails by itself."""
    reported = words(fencepost("agree", NAME, "--examples", 40))
    assert "tests.lock.reference:reference against lock/fenced, seed 1: holds after" in reported
    assert "100% of" in reported
    ran = fencepost("agree", f"{NAME}/fenced", "--implementation", "tests.lock.reference:Unfenced", "--examples", 40)
    assert "write: stored <= held[c] (c 0; 2 and 1) [lock.3: The store refuses" in words(ran, code=1)
    assert "promise broken: lock.P1: written at step 4 (client 0, token 1): an older token than that of" in words(
        ran, 1
    )
    program = ran.out[ran.out.index("from tests.lock") : ran.out.index("\n\n")]
    assert program.count("system.") == 7
    with pytest.raises(AssertionError, match="stored <= held"):
        exec(program, {})


def test_generate_and_replay(tmp_path: Path) -> None:
    """Simulated histories of the reference hold; in those of the defect the property and the model are violated."""
    reported = words(fencepost("generate", f"{NAME}/fenced", tmp_path / "a", "--histories", 50))
    assert "2,000 events in 50 histories" in reported
    ran = fencepost("replay", tmp_path / "a", "--protocol", NAME, "--require", "all", "--json", tmp_path / "a.json")
    assert "0 of 1 property is violated, 1 holds; conformance holds in all histories" in words(ran)
    with_defect = ("--histories", 50, "--config", "broken=Unfenced", "--config", "clients=3")
    assert fencepost("generate", f"{NAME}/fenced", tmp_path / "b", *with_defect).code == 0
    reported = words(fencepost("replay", tmp_path / "b", "--protocol", NAME), code=1)
    assert "writes in order violated" in reported and "conformance violated" in reported


def test_nothing_is_imported_that_was_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by a command, nor by a manifest, which may be anybody's."""
    made, spy = tmp_path / "made", tmp_path / "spy"
    assert fencepost("generate", f"{NAME}/fenced", made, "--histories", 5).code == 0
    assert fencepost("replay", made, "--protocol", NAME).code == 0
    assert "are histories of lock, not of id-blocks" in fencepost("replay", made, "--protocol", "id-blocks").err
    spy.mkdir()
    (spy / "__init__.py").write_text("raise AssertionError('imported')")
    (spy / "claims.py").touch()
    manifest = made / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"lock"', '"spy"'))
    monkeypatch.chdir(tmp_path)
    assert fencepost("list").code == 0
    assert fencepost("replay", made).err == (
        f"fencepost: {made}: unknown protocol 'spy'; known: {', '.join([*KNOWN, 'lock'])}; "
        "name your own with --protocol PACKAGE\n"
    )
    assert "AssertionError: imported" in fencepost("list", "spy").err


def test_dangers() -> None:
    """Those that it has were met, and the others are not of this protocol."""
    reported = words(fencepost("dangers", NAME, "--fresh"))
    assert "zombie in in in" in reported and reported.endswith("excludes nothing")


def test_verify_in_processes(tmp_path: Path) -> None:
    """Everything as expected, where other processes do a part of the work, and with a report as documented."""
    reported = words(process("verify", NAME, "--verbose", "--json", tmp_path / "v.json"))
    assert "newest stays violated as predicted explore in 5 steps" in reported
    assert "agrees with the model holds" in reported
    assert "writes in order holds" in reported and "killers: 1 of 1 promises (seeded: defect Unfenced)" in reported
    assert "; 0 not as expected" in reported
    assert reported.endswith(f'fencepost show {NAME}/unfenced "newest stays"')
    assert {each["protocol"] for each in read_json(tmp_path / "v.json")["results"]} == {"lock"}


def test_the_environment_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it has its own name, which the shell completes as well; it is looked for where the command is run."""
    named = {"FENCEPOST_PROTOCOLS": NAME, "PYTHONPATH": str(ROOT / ".package")}
    monkeypatch.chdir(tmp_path)
    assert f"there is no package {NAME}, here or installed" in process("list", "lock", **named).err
    monkeypatch.chdir(ROOT)
    assert "unfenced" in words(process("list", "lock", **named))
    completing = {"_FENCEPOST_COMPLETE": "bash_complete", "COMP_CWORD": "2"}
    assert "lock/unfenced" in process(COMP_WORDS="fencepost prove lock/", **completing, **named).out
    assert process("list", FENCEPOST_PROTOCOLS="no.locks").err == (
        "fencepost: there is no package no.locks, here or installed, as FENCEPOST_PROTOCOLS says; "
        "name it as in an import statement\n"
    )
    assert f"{NAME}/unfenced" in process(COMP_WORDS=f"fencepost prove {NAME}/", **completing).out


def test_an_entry_point_names_it(tmp_path: Path) -> None:
    """Of a package that is installed."""
    described = tmp_path / "locks-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: locks\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[fencepost.protocols]\nlock = {NAME}\n")
    path = os.pathsep.join((str(ROOT / ".package"), str(ROOT), str(tmp_path)))
    assert "newest stays violated in 5 steps" in words(process("explore", "lock/unfenced", PYTHONPATH=path))


SMALL = '''
from fencepost.model.language import Nat, Properties, Protocol, action, promise, witness
from fencepost.model.rules import add_rules
from fencepost.properties.entries import ProtocolEntry, Variant
{rules}

class Counter(Protocol):
    count: Nat

    @action
    def up(s):
        """One more."""
        {step}

class CounterProperties(Properties, of=Counter):
    @promise(rule="{rule}")
    def not_negative(s):
        """It is not."""
        return s.count >= 0

ENTRIES = (ProtocolEntry("{name}", "It counts.", (Variant("only", CounterProperties, "up"),), {{}}),)
'''


def package(place: Path, name: str, /, rule: str = "", **parts: str) -> None:
    """A package there, with one protocol in it."""
    reported = {"rules": "", "step": "s.count = s.count + 1", "rule": rule or "730.P1", "name": name, **parts}
    (place / name).mkdir()
    (place / name / "claims.py").write_text(SMALL.format(**reported))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"name": "other"},
            "{name}.claims: ENTRIES begins with 'other'; write ENTRIES = (ProtocolEntry('{name}', …),)",
        ),
        ({"step": "x.count = 1"}, "{name}/claims.py:13: NameError: name 'x' is not defined"),
        ({"step": "s.count ="}, "{name}/claims.py:13: SyntaxError: invalid syntax"),
        (
            {"rules": "import no_such_module"},
            "{name}/claims.py:5: ModuleNotFoundError: No module named 'no_such_module'",
        ),
        ({"rules": "add_rules('730', 'mine', '')"}, "{name}/claims.py:5: rules 730.… are those of KIP-730"),
        ({"rules": "add_rules('own', 'x', 'own.1 rule It is.')"}, "is no rule of own; write 'own.1 mechanism What is"),
        ({"rule": "own.77"}, "{name}/claims.py:16: 'own.77' is no rule in the ledger; "),
    ],
)
def test_what_is_wrong_in_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, str], expected: str
) -> None:
    """One line: where, what, and what to write."""
    name = "wrong" + tmp_path.name.removeprefix("test_what_is_wrong_in_a_packag")  # a module is imported once
    package(tmp_path, name, **change)
    monkeypatch.chdir(tmp_path)
    ran = fencepost("list", f"{name}/only")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert expected.format(name=name) in ran.err


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("no.package", "there is no package no.package, here or installed; name it as in an import statement"),
        ("lock/fenced", "there is no protocol 'lock'; "),
        ("tests/lock", "tests/lock is a folder; name it as a package: tests.lock"),
        ("tests.conftest", "tests.conftest is a file; a protocol is a folder, with claims.py in it"),
        ("tests.support", "tests.support has no claims.py; write one with ENTRIES = (ProtocolEntry('support', …),)"),
        ("tests.transactions", "tests.transactions and fencepost.properties.transactions are both transactions; give "),
        (
            "tests.lock/fence",
            "lock has no variant 'fence'; did you mean fenced or unfenced? fencepost list tests.lock names",
        ),
    ],
)
def test_what_is_no_package_with_a_protocol(named: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with what to name or to write."""
    monkeypatch.chdir(ROOT)
    ran = fencepost("prove", named)
    assert (ran.code, ran.out) == (2, "")
    assert expected in ran.err


def copied(place: Path, number: int, part: str, old: str, new: str) -> str:
    """A copy of the lock there, as a package of its own with one change; its name."""
    name = f"lock{number}"
    (place / name).mkdir()
    for file in LOCK.glob("*.py"):
        text = file.read_text(encoding="utf-8").replace(NAME, name).replace("LOCK", name.upper())
        text = text.replace('    "lock",', f'    "{name}",')
        assert part != file.name or old in text
        (place / name / file.name).write_text(text.replace(old, new) if part == file.name else text)
    if not new:
        (place / name / part).unlink()
    return name


MISTAKES = [
    ("agree", "interface.py", "", "", "no implementation of {name} can be driven; {name} lacks a part; write class"),
    ("agree", "events.py", "", "", "what implementations of {name} show is not said: {name} lacks a part; write"),
    ("agree", "reference.py", "", "", "there is no implementation '{name}.reference:reference': No module named '"),
    ("agree", "reference.py", "reference = ", "service = ", "module '{name}.reference' has no attribute 'reference'"),
    ("agree", "reference.py", "def write", "def put", "reference:reference: its Locks lacks write; {name}.interface"),
    ("agree", "interface.py", "(self, client: Client)", "(self, client)", "interface: System.acquire(client) has no"),
    ("agree", "interface.py", "client: Client", "client: int", "interface: acquire(client): a machine cannot draw a"),
    ("agree", "events.py", '"client token"', '"client tokn"', "{name}: granted fills 'tokn'; the columns are client"),
    ("agree", "events.py", '"written", (Do', '"wrote", (Do', "events.py:{line}: 'wrote' is no kind of event of"),
    ("agree", "events.py", '"c": "client", "t"', '"c": "token", "t"', "granted: acquire takes c: Client from token,"),
    ("agree", "events.py", '"t": "token"', '"t": "tokn"', "acquire takes t: Token from tokn, which is no column; th"),
    ("agree", "events.py", 'Do("write"', 'Do("wrte"', "events.py:{do}: written is a step 'wrte', and there is no such"),
    ("agree", "events.py", 'Do("write", {"c"', 'Do("write", {"q"', "events.py:{do}: write takes c; written gives q"),
    ("agree", "events.py", "written = 3", "written = 1", "events.py:11: the events granted and written have one code,"),
    ("agree", "events.py", 'client", "int32"', 'client", "str"', "events.py:24: column client is of type 'str', and h"),
    ("agree", "events.py", '"token", "int64"', '"kind", "int64"', "events.py:20: {name}: there are two columns 'kind'"),
    ("agree", "reference.py", '"granted", client=client', '"granted", client="me"', "the event granted has client='me"),
    ("generate", "reference.py", '"granted", client=client', '"granted", client="me"', "event granted has client='me'"),
    ("explore", "claims.py", '"violated"', '"broken"', "claims.py:54: variant unfenced: 'broken' is no verdict; there"),
    ("explore", "claims.py", '"newest_stays": "', '"newest_stay": "', "LockProperties has no 'newest_stay'; did you m"),
    ("explore", "claims.py", '"nightly": ', '"night": ', "variant fenced: 'night' is no profile; did you mean nightly"),
    ("prove", "claims.py", '@promise(rule="lock.P2")', "@promise", "claims.py:17: @promise above tokens_unique has no"),
    ("prove", "claims.py", '@promise(rule="lock.P2")', '@promise("lock.P2")', "@promise has another form: too many po"),
    ("prove", "claims.py", "@lemma", "@lemma()", "@lemma has another form: missing a required argument: 'body'"),
    ("prove", "model.py", '@danger("zombie")', "@danger", "model.py:83: @danger above writes_late has no brackets; wr"),
    ("generate", "interface.py", "", "", "{name}/fenced has no simulator; name yours with --from MODULE:FUNCTION, or"),
    ("generate", "reference.py", '"refused"', '"denied"', "write shows an event 'denied'; {name} has granted, expir"),
    ("generate", "reference.py", "self.stored <= token", "self.store <= token", "AttributeError: 'Locks' object has"),
    ("show", "claims.py", "write: guard 1 dropped", "write: guard 2", "variant unfenced: Lock has no mutation 'writ"),
    ("explore", "claims.py", "leases=3", "lease=3", "the bound 'leases', and the bounds given are: clients=2, lease"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "mistake"), [*enumerate(MISTAKES)], ids=[f"{m[0]}: {m[1]} {m[2]}" for m in MISTAKES]
)
def test_mistakes_of_a_newcomer(
    number: int, mistake: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package in which something lacks, or has another name, is refused in one line that says where and what."""
    command, part, old, new, expected = mistake
    name = copied(tmp_path, number, part, old, new)
    lines = (LOCK / "events.py").read_text(encoding="utf-8").splitlines()
    line = lines.index("MAPPING = EventMapping(") + 1
    do = next(at for at, text in enumerate(lines, 1) if 'Do("write"' in text)
    monkeypatch.chdir(tmp_path)
    further = {"generate": [tmp_path / "made"], "show": ["newest stays"]}.get(command, [])
    variant = "unfenced" if command == "show" or (part, command) == ("claims.py", "explore") else "fenced"
    ran = fencepost(command, f"{name}/{variant}", *further)
    assert (ran.code, ran.err.count("\n")) == (2, 1), ran.out + ran.err
    assert expected.format(name=name, NAME=name.upper(), line=line, do=do) in ran.err


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            'self.show("expired")',
            'self.show("expird")',
            "expird: this is no kind of event of {name}; did you mean expired?",
        ),
        ('"granted", client=client,', '"granted",', "granted: the event lacks its column client"),
    ],
)
def test_an_event_that_is_not_as_its_table_says(
    old: str, new: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disagreement names what the event lacks by its table, before what bars the model."""
    name = copied(tmp_path, 70 + len(new) % 7, "reference.py", old, new)
    monkeypatch.chdir(tmp_path)
    assert f"barred by {expected.format(name=name)}" in words(fencepost("agree", name, "--examples", 20), code=1)


def test_what_is_named_can_be_typed(tmp_path: Path) -> None:
    """Hints name the package with its points, and bounds by name; a table names the command that made it; a promise of
    which no proof is asked is named."""
    table = tmp_path / "lock.md"
    assert f"see `fencepost dangers {NAME}/fenced`" in words(fencepost("prove", f"{NAME}/fenced"))
    assert (
        f'as it is predicted to fail: fencepost show {NAME}/unfenced "newest stays"'
        in fencepost("prove", f"{NAME}/unfenced").out
    )
    assert fencepost("explore", f"{NAME}/fenced", "--bound", "clent=3").err.endswith(
        "fenced has no bound 'clent'; did you mean clients? there are clients, leases\n"
    )
    assert fencepost("necessity", NAME, "--table", table).code == 0
    assert f"Made by `fencepost necessity {NAME} --table {table}` of the models" in table.read_text()


def test_runs_that_are_kept_are_looked_for_beside_the_protocol() -> None:
    """Those of the lock are, and none of them is a program, as no step is said to be a call: nothing is driven."""
    ran = fencepost("agree", NAME, "--from", "model")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "--from model: 0 of 4 kept runs are turned into 0 different programs" in ran.err


def test_every_file_that_decides_is_in_the_hash(tmp_path: Path) -> None:
    """Of agreement all of the protocol's, with the implementation; of a replay all by which histories are judged."""
    made, report = tmp_path / "made", tmp_path / "report.json"
    defect = f"{NAME}.reference:Unfenced"
    assert fencepost("agree", NAME, "--implementation", defect, "--examples", 40, "--json", report).code == 1
    read = {Path(file).name for file in read_json(report)["sources"] if LOCK in Path(file).parents}
    assert read == {file.name for file in LOCK.glob("*.py") if file.name != "__init__.py"}
    assert fencepost("generate", f"{NAME}/fenced", made, "--histories", 5).code == 0
    assert fencepost("replay", made, "--protocol", NAME, "--json", report).code == 0
    assert {Path(file).name for file in read_json(report)["sources"] if LOCK in Path(file).parents} == read - {
        "reference.py"
    }


def test_a_proof_that_fails_and_one_without_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no run breaks is not proved, rather than violated; and a proof needs no bounds."""
    weak = copied(tmp_path, 90, "claims.py", "s.held[c] <= s.issued", "s.held[c] <= s.held[c]")
    bare = copied(tmp_path, 91, "claims.py", "bounds=BOUNDS, ", " ")
    monkeypatch.chdir(tmp_path)
    reported = words(fencepost("prove", f"{weak}/fenced"), code=1)
    assert "tokens unique not proved" in reported
    assert "so that a lemma is missing which excludes it" in reported
    assert "newest stays holds" in words(fencepost("prove", f"{bare}/fenced"))
    assert "the bounds given are: none; add it" in fencepost("explore", f"{bare}/fenced").err


def test_what_an_implementation_shows_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all kinds of event are everybody's to show, the reference shows the way to where they can be seen."""
    inside = copied(tmp_path, 92, "events.py", 'refused = 4, "client token"', 'refused = 4, "client token", "inside"')
    monkeypatch.chdir(tmp_path)
    assert fencepost("list", inside).code == 0
    report = agree(f"{inside}.reference:reference", protocol=inside, max_examples=5)
    assert report.observed == ("expired", "granted", "refused", "written")
    blind = copied(tmp_path, 93, "events.py", 'refused = 4, "client token"', 'refused = 4, "client token", "inside"')
    hidden = (
        (tmp_path / blind / "reference.py").read_text().replace('return self.show("refused"', 'return bool("refused"')
    )
    (tmp_path / blind / "reference.py").write_text(
        hidden.replace('bool("refused", client=client, token=token)', "True")
    )
    assert fencepost("list", blind).code == 0
    report = agree(f"{blind}.reference:reference", protocol=blind, max_examples=5)
    assert (report.verdict, report.observed) == ("holds", ("expired", "granted", "written"))
    assert report.by_promises
    assert any("it does not show refused" in reason for reason in report.coverage.beyond)
