"""A search that is kept on disk: what was interrupted goes on, and what does not fit into memory lies in files."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import SCRIPT, clean_environment, fencepost
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language.checks.errors import InputError
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs.engines.explore import Exploration, Progress, explore, search
from fencepost.properties.catalogue import bounds_of, find
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties
from layouts import outcome

SPEC = settle(Kip618Yardstick.spec)
PROPERTIES = Kip618YardstickProperties.properties
SMALL = {"workers": 2, "tasks": 1, "log": 4}
TWO_TASKS = {"workers": 2, "tasks": 2, "log": 3}


class Interrupted(Exception):
    """As Ctrl-C is in the middle of a search."""


def broken_off(place: Path, depth: int, engine: str = "numpy") -> None:
    def heard(level: Progress) -> None:
        if level.depth == depth:
            raise Interrupted

    with pytest.raises(Interrupted):
        explore(SPEC, PROPERTIES, SMALL, checkpoint=place, progress=heard, engine=engine)


@pytest.fixture(scope="module")
def alone() -> Exploration:
    return explore(SPEC, PROPERTIES, SMALL, threads=1)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_what_was_interrupted_goes_on(alone: Exploration, engine: str, tmp_path: Path) -> None:
    """By either engine, whichever began: with the same states, counts, verdicts and traces; and once it is whole,
    nothing is searched again."""
    if engine == "numba":
        pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    broken_off(tmp_path, 9)
    found = explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path, engine=engine)
    assert outcome(found) == outcome(alone)
    assert (found.resumed, found.first, found.met) == (sum(alone.levels[:9]), alone.first, alone.met)
    whole = explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path)
    assert outcome(whole) == outcome(alone) and whole.resumed == whole.distinct


def test_a_violation_is_found_again(tmp_path: Path) -> None:
    """Of a state and of a step, with the same shortest run, from the files alone."""
    for protocol, mistake in (("kip618-yardstick", "no-check-after"), ("id-blocks", "kraft-snapshot-of-block")):
        variant = find(f"{protocol}/{mistake}")[1]
        assert variant is not None
        asked = {n: p for n, p in variant.asked.items() if p.kind in ("always", "step")}
        bounds = bounds_of(variant, "smoke")
        once, again = (
            explore(variant.spec, asked, bounds, stop_when_violated=True, checkpoint=tmp_path) for _ in range(2)
        )
        assert once.violated and outcome(once) == outcome(again)
        assert (once.resumed, again.resumed) == (0, again.distinct)


def test_other_searches_have_other_folders(tmp_path: Path) -> None:
    """Another bound, another property, another rule: none goes on with what the others have kept."""
    changed = mutation(Kip618Yardstick.spec, "618.4", "start_round: guard 1 dropped").apply()
    few = dict(list(PROPERTIES.items())[:1])
    for number, (spec, asked, bounds) in enumerate(
        [(SPEC, PROPERTIES, SMALL), (SPEC, PROPERTIES, SMALL | {"log": 3}), (SPEC, few, SMALL), (changed, few, SMALL)],
        1,
    ):
        assert explore(spec, asked, bounds, checkpoint=tmp_path, max_depth=5).resumed == 0
        assert len(list(tmp_path.iterdir())) == number
    assert explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path, max_depth=5).resumed > 0


def test_what_is_not_whole_is_refused(alone: Exploration, tmp_path: Path) -> None:
    """A level that was cut off, an index that is none; a level that was being written is written again."""
    broken_off(tmp_path, 9)
    [folder] = tmp_path.iterdir()
    (folder / "level-00009.npy").write_bytes(b"half")  # the index does not know it
    assert outcome(explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path)) == outcome(alone)
    level = folder / "level-00007.npy"
    level.write_bytes(level.read_bytes()[:-8])
    with pytest.raises(InputError, match=r"level-00007.npy: not as a search has written it .* remove "):
        explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path)
    (folder / "search.json").write_text("{")
    with pytest.raises(InputError, match=r"search.json: not as a search has written it .* remove "):
        explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_what_memory_does_not_hold_is_on_disk(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a limit that stops a search in memory, one with files comes to its end; the compiled one hands over."""
    if engine == "numba":
        pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    monkeypatch.setattr(search, "ON_DISK", 1 << 14)
    limit = {"numpy": 4 << 20, "numba": 24 << 20}[engine]
    stopped = explore(SPEC, PROPERTIES, TWO_TASKS, memory_limit=limit, engine=engine, threads=2)
    assert stopped.stopped is not None and stopped.stopped.startswith("memory")
    whole = explore(SPEC, PROPERTIES, TWO_TASKS, memory_limit=limit, engine=engine, checkpoint=tmp_path)
    assert outcome(whole) == outcome(explore(SPEC, PROPERTIES, TWO_TASKS))
    [folder] = tmp_path.iterdir()
    assert not list(folder.glob("run-*"))


def test_one_search_at_a_time(tmp_path: Path) -> None:
    def another(level: Progress) -> None:
        with pytest.raises(InputError, match="another search is using it"):
            explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path)
        raise Interrupted

    with pytest.raises(Interrupted):
        explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path, progress=another)
    assert explore(SPEC, PROPERTIES, SMALL, checkpoint=tmp_path).complete


def test_a_killed_command_goes_on(tmp_path: Path) -> None:
    """One that the system killed, without a chance to clear up; the same as one that was left alone, but for what was
    found before and times."""
    words = ["explore", "kip618-yardstick/yardstick", "--bound", "log=3", "--bound", "tasks=2"]
    place = tmp_path / "kept"
    with subprocess.Popen(
        [str(SCRIPT), *words, "--checkpoint", str(place)], stdout=subprocess.DEVNULL, env=clean_environment()
    ) as running:
        while len(list(place.glob("*/level-*"))) < 8 and running.poll() is None:
            time.sleep(0.005)
        running.send_signal(signal.SIGKILL)
    found = fencepost(*words, "--checkpoint", place, "--json", tmp_path / "on.json")
    left = fencepost(*words, "--json", tmp_path / "left.json")
    assert found.code == left.code == 0
    assert "of them found before" in found.out
    on, alone = (json.loads((tmp_path / name).read_text()) for name in ("on.json", "left.json"))
    assert on.pop("resumed") > 0
    for document in (on, alone):
        document.pop("seconds"), document.pop("compile_seconds")
    assert on == alone
