"""Every verdict says which copy of a model it is about, and a copy that is not meant is told."""

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Ran, clean_environment, fencepost, read_json
from fencepost.proofs.provenance import described, hash_of, hash_of_model, other_copies, sources
from fencepost.properties.id_blocks.variants import ID_BLOCKS

ROOT = Path(__file__).parents[3]
FOLDERS = ("model", "properties", "proofs", "reference_impl")
KRAFT = ID_BLOCKS.variant("kraft")
GUARD = '        require(s.block_end(r) <= s.committed, rule="730.7")\n'


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``installed``: the package as it is; ``checkout``: another, in which the guard of 730.7 is deleted; ``editable``:
    the package whose files are the checkout's."""
    made = tmp_path_factory.mktemp("copies")
    for target in (made / "installed" / "fencepost", made / "checkout"):
        for folder in FOLDERS:
            shutil.copytree(ROOT / folder, target / folder, ignore=shutil.ignore_patterns("recorded", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", made / "checkout")
    for target in (made / "installed", made / "editable"):
        (target / "fencepost").mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / ".package" / "fencepost" / "__init__.py", target / "fencepost")
    model = made / "checkout" / "model" / "id_blocks" / "kraft.py"
    text = model.read_text(encoding="utf-8")
    assert text.count(GUARD) == 1
    model.write_text(text.replace(GUARD, ""), encoding="utf-8")
    for folder in FOLDERS:
        (made / "editable" / "fencepost" / folder).symlink_to(made / "checkout" / folder)
    return made


def prove(path: Path, here: Path) -> Ran:
    """``fencepost prove`` as it is found on a path, in a working directory."""
    command = [sys.executable, "-c", "from fencepost.proofs.cli import main; main()", "prove", "id-blocks/kraft"]
    environment = clean_environment(PYTHONPATH=str(path))
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=here, check=False)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_an_edit_of_another_copy_is_reported(copies: Path) -> None:
    """The installed model is proved, and one line says that the edited one was not read; also from below the
    checkout."""
    for here in (copies / "checkout", copies / "checkout" / "model"):
        ran = prove(copies / "installed", here)
        assert ran.code == 0, ran.err
        [warning] = ran.err.splitlines()
        assert warning.startswith(f"warning: {copies / 'checkout'} is another copy of what was read ")
        assert "model/id_blocks/kraft.py differs there" in warning
        assert ran.out.startswith("read model/id_blocks/kraft.py and ")
        assert f"in {copies / 'installed' / 'fencepost'}, hash " in ran.out


def test_an_edit_counts_where_the_checkout_is_what_runs(copies: Path) -> None:
    """As after README's command: the edited model is judged, without a warning."""
    ran = prove(copies / "editable", copies / "checkout")
    assert (ran.code, ran.err) == (1, "")
    assert "no id twice                        not proved (leans on granted is booked" in ran.out


def test_elsewhere_nothing_is_reported(copies: Path, tmp_path: Path) -> None:
    """Nor where a pyproject.toml is of another project."""
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    assert list(other_copies(sources([KRAFT]), tmp_path)) == []
    [reported] = other_copies(sources([KRAFT]), copies / "checkout" / "proofs")
    assert "kraft.py differs there" in reported


def test_the_files_of_a_variant() -> None:
    """Its protocol's own first, then all that it is made of, and nothing of other protocols; the language is none."""
    read = sources([KRAFT])
    assert read[0].name == "model/id_blocks/kraft.py"
    names = {s.name for s in read}
    assert {"model/id_blocks/brokers.py", "properties/id_blocks/claims.py"} <= names
    assert all(name.startswith(("model/id_blocks/", "properties/id_blocks/", "model/rules")) for name in names), names
    assert all(s.hash == hash_of(s.file.read_bytes()) and (ROOT / s.name).samefile(s.file) for s in read)
    assert described(read).startswith(f"read model/id_blocks/kraft.py and {len(read) - 1} more in {ROOT}, hash ")


@pytest.mark.parametrize(
    "words",
    [
        ("prove", "config-topic-writes"),
        ("explore", "config-topic-writes"),
        ("necessity", "config-topic-writes"),
        ("agree", "id-blocks/kraft", "--examples", "1"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_judges_says_what_it_read(words: tuple[str, ...], tmp_path: Path) -> None:
    """In its first line, and in JSON: files, each with the hash of its text."""
    ran = fencepost(*words, "--json", tmp_path / "found.json")
    assert ran.out.startswith("read model/")
    document = read_json(tmp_path / "found.json")
    for row in document if isinstance(document, list) else [document]:
        assert row["sources"]
        assert all(hash_of(Path(file).read_bytes()) == digest for file, digest in row["sources"].items())


def test_the_hash_of_a_model_is_of_what_it_means() -> None:
    """Every variant has its own, but for those that differ in name alone; a guard that is gone changes it, and a word
    that is added does not."""
    hashes = {v.name: hash_of_model(v) for v in ID_BLOCKS.variants}
    assert len(set(hashes.values())) == len(hashes)
    raw = KRAFT.properties.protocol.spec
    answer = raw.actions["answer"]

    def with_spec(spec: object) -> str:
        protocol = type("Other", (), {"spec": spec, "__module__": __name__})
        properties = type("Properties", (), {"protocol": protocol, "properties": KRAFT.properties.properties})
        return hash_of_model(replace(KRAFT, properties=properties))  # type: ignore[arg-type]

    assert with_spec(raw) == hashes["kraft"]
    reported = replace(answer, doc="Other words.")
    assert with_spec(replace(raw, actions=raw.actions | {"answer": reported})) == hashes["kraft"]
    loose = replace(answer, guards=tuple(g for g in answer.guards if g.rule != "730.7"))
    assert with_spec(replace(raw, actions=raw.actions | {"answer": loose})) != hashes["kraft"]
