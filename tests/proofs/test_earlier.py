"""Verdicts that an earlier run kept: taken where nothing has changed that they depend on, marked, and never else."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import fencepost, read_json, untimed
from fencepost.proofs import dependencies, verdict_cache
from fencepost.proofs.verdict_cache import Earlier, Key, key_of, stored_or_made
from fencepost.properties.catalogue import protocols

SMALL = "config-topic-writes"


def test_what_has_not_changed_is_of_the_cache_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same rows, but for the mark; `--fresh`, and a service that sets CI, compute them."""

    def verified(*words: str, **environment: str) -> tuple[str, list[dict]]:
        """What `verify` prints of a small protocol, and its rows."""
        with monkeypatch.context() as patch:
            usual = {"FENCEPOST_FRESH": "", "CI": "", "XDG_CACHE_HOME": str(tmp_path)}
            for name, value in (usual | environment).items():
                patch.setenv(name, value)
            ran = fencepost("verify", SMALL, "--json", tmp_path / "report.json", *words)
        assert ran.code == 0, ran.err
        return ran.out, read_json(tmp_path / "report.json")["results"]

    out, made = verified("--verbose")
    assert {row["cached"] for row in made} == {None}
    assert "kept" not in out
    again, cached = verified("--verbose")
    dates = {row["cached"] for row in cached}
    assert None not in dates
    assert f"kept since {min(dates)}; nothing that they depend on has changed" in again
    assert f"{len(cached)} kept by earlier runs, since {min(dates)}" in again
    assert untimed([{**row, "cached": None} for row in cached]) == untimed(made)
    for words, environment in ((("--fresh",), {}), ((), {"CI": "true"})):
        out, rows = verified(*words, **environment)
        assert {row["cached"] for row in rows} == {None}
        assert "kept" not in out


def test_another_profile_or_seed_is_another_question() -> None:
    """And cvc5's opinion of a proof another than none."""
    entry = protocols()[SMALL]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_FRESH", "")
        asked = (("smoke",), ("ci",), ("smoke", "cvc5"), ("smoke", 1), ("smoke", 2))
        keys = [key_of(entry, "x", *further, fresh=False) for further in asked]
    assert len({key.depends for key in keys} - {None}) == len({key.file for key in keys}) == len(asked)


def test_a_change_of_any_file_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the model, its properties, the engines, the reference; not of another protocol's rules, nor of pages."""
    entry = protocols()["id-blocks"]
    root = dependencies.root()
    right, before = dependencies._digest, dependencies.hash_of(entry)
    for name, counts in {
        "model/id_blocks/kraft.py": True,
        "model/language/protocol.py": True,
        "properties/entries.py": True,
        "proofs/engines/induction.py": True,
        "proofs/necessity/killers.py": True,
        "proofs/readings/solver/solving.py": True,
        "proofs/scale/replay.py": True,
        "reference_impl/systems/id_blocks.py": True,
        "properties/id_blocks/kept/killers-kraft.json": True,
        "model/source_commits/exactly_once.py": False,
        "proofs/pages/page.py": False,
    }.items():
        changed = root / name
        assert changed.is_file(), name
        monkeypatch.setattr(dependencies, "_digest", lambda p, c=changed: "" if p == c else right(p))
        dependencies.hash_of_files.cache_clear()
        assert (dependencies.hash_of(entry) != before) is counts, name
    dependencies.hash_of_files.cache_clear()


TRACED = """
import sys
from pathlib import Path
import fencepost.proofs.verify
from fencepost.proofs import dependencies, replays
from fencepost.proofs.testing import agree
from fencepost.properties.catalogue import protocols
from fencepost.proofs.provenance import sources
entry = protocols()[sys.argv[1]]
before = set(sys.modules)  # the catalogue has every protocol
for variant in entry.variants:
    variant.spec, variant.promised
for name, variant in entry.verified_implementations:
    agree(name, protocol=entry.name, variant=variant, seed=1, max_examples=2, verdict_only=True)
replays.HISTORIES["smoke"] = 2
list(replays.histories(entry, "smoke", 1))
known = dependencies.files(dependencies.folders_of(entry))
files = [m.__file__ for name, m in list(sys.modules.items()) if name not in before and getattr(m, "__file__", None)]
loaded = [Path(file).resolve() for file in (*files, *(source.file for source in sources(entry.variants)))]
own = [p for p in loaded if p.suffix == ".py" and dependencies.root() in p.parents]
own = [p for p in own if ".venv" not in p.parts and ".package" not in p.parts]
print(len(own), sorted(str(p.relative_to(dependencies.root())) for p in own if p not in known))
"""


@pytest.mark.parametrize("protocol", ["id-blocks", "group-fencing", "source-commits", "task-counts", "end-to-end"])
def test_what_a_run_loads_is_known_beforehand(protocol: str) -> None:
    """All files that tracing, driving and replaying load, and those of the variants, are found beforehand."""
    words = (sys.executable, "-c", TRACED, protocol)
    ran = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ})
    assert ran.returncode == 0, ran.stderr[-2000:]
    number, _, unknown = ran.stdout.strip().splitlines()[-1].partition(" ")
    assert int(number) > 30
    assert unknown == "[]"


def test_an_entry_that_was_changed_has_no_cached_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is expected of it, for example, is nothing that a file says."""
    monkeypatch.setenv("FENCEPOST_FRESH", "")
    entry = protocols()[SMALL]
    assert key_of(entry, "x", fresh=False).depends is not None
    assert key_of(replace(entry), "x", fresh=False).depends is None
    monkeypatch.setenv("FENCEPOST_FRESH", "1")
    assert key_of(entry, "x", fresh=False).depends is None


def test_what_cannot_be_read_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of anything; a folder that is a file; and of another tree."""
    monkeypatch.setattr(verdict_cache, "cache_folder", lambda: tmp_path)
    key = Key("q", "a", fresh=False)
    assert stored_or_made(key, lambda: 1) == Earlier(1, None)
    assert stored_or_made(key, lambda: 2).answer == 1
    assert stored_or_made(Key("q", "b", fresh=False), lambda: 2) == Earlier(2, None)
    key.file.write_bytes(b"no pickle")
    assert stored_or_made(key, lambda: 3) == Earlier(3, None)
    assert stored_or_made(Key("q", None, fresh=False), lambda: 4) == Earlier(4, None)
    assert stored_or_made(key, lambda: 5).answer == 3
    monkeypatch.setattr(verdict_cache, "cache_folder", lambda: tmp_path / "verdicts" / "q.pickle")
    assert stored_or_made(key, lambda: 6) == Earlier(6, None)
    assert [p.name for p in (tmp_path / "verdicts").iterdir()] == ["q.pickle"]
