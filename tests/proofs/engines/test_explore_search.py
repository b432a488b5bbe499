"""The search as a whole: threads, engines, limits and stops, on the KIP-618 yardstick."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language.derived.mutations import mutation, settle
from fencepost.proofs import jit_cache
from fencepost.proofs.engines.explore import Exploration, Progress, exploration, explore, graph, kernels, search
from fencepost.proofs.engines.explore.compiled_search import compiled, loaded, seen
from fencepost.properties.catalogue import bounds_of, find
from fencepost.properties.id_blocks.variants import ID_BLOCKS
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties
from layouts import LAYOUTS, outcome
from z3_protocols import TicketLock

SPEC = settle(Kip618Yardstick.spec)
PROPERTIES = Kip618YardstickProperties.properties
SMALL = {"workers": 2, "tasks": 1, "log": 4}
TWO_TASKS = {"workers": 2, "tasks": 2, "log": 3}


@pytest.fixture(scope="module")
def alone() -> Exploration:
    return explore(SPEC, PROPERTIES, SMALL, threads=1)


def test_threads_change_nothing(alone: Exploration, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts, states and traces are the same on three threads, also when blocks and chunks are tiny."""
    for name, value in (("BLOCK", 512), ("CHUNK", 1500), ("SMALL", 64)):
        monkeypatch.setattr(search, name, value)
    monkeypatch.setattr(search, "_ranges", lambda states: 1 + states // 200)
    assert outcome(explore(SPEC, PROPERTIES, SMALL, threads=3)) == outcome(alone)


@pytest.mark.parametrize("threads", [1, 2])
def test_engines_agree(alone: Exploration, threads: int) -> None:
    """The compiled engine finds the same states, counts and traces."""
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    assert outcome(explore(SPEC, PROPERTIES, SMALL, threads=threads, engine="numba")) == outcome(alone)


@pytest.mark.parametrize("layout", ["two words", "five words", "shared bits"])
def test_engines_agree_on_states_of_any_length(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several words, and of fields that share bits."""
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    monkeypatch.setattr(kernels, "pack_fields", LAYOUTS[layout])
    found, expected = (explore(SPEC, PROPERTIES, SMALL, engine=engine) for engine in ("numba", "numpy"))
    assert outcome(found) == outcome(expected)


@pytest.mark.parametrize("threads", [1, 3])
def test_small_buffers_change_nothing(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Filled and emptied several times within a level; by three threads, which do not share the segments evenly."""
    pytest.importorskip("numba", reason="needs the extra fast")
    for module, name, value in (
        (seen, "ROOM", 1),
        (seen, "SMALL", 64),
        (compiled, "SMALL", 64),
        (compiled, "ROWS", 97),
    ):
        monkeypatch.setattr(module, name, value)
    emptied, empty = list[int](), seen.Seen.empty
    monkeypatch.setattr(seen.Seen, "empty", lambda *given: emptied.append(1) or empty(*given))
    found = explore(SPEC, PROPERTIES, TWO_TASKS, threads=threads, engine="numba")
    assert outcome(found) == outcome(explore(SPEC, PROPERTIES, TWO_TASKS))
    assert threads > 1 or len(emptied) > found.depth + 4


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("known", [True, False], ids=["compiled before", "compiled for it"])
def test_one_engine_goes_on_for_the_other(
    alone: Exploration, threads: int, known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From some level on the compiled one, with the same states, counts and traces: later where there is more to
    compile, and not where it is not there."""
    pytest.importorskip("numba", reason="needs the extra fast")
    monkeypatch.setattr(exploration, "READY_FROM", 500)
    monkeypatch.setattr(exploration, "COMPILED_FROM", 2000)
    monkeypatch.setattr(compiled, "was_compiled", lambda kernels: known)
    monkeypatch.setattr(compiled, "effort", lambda kernels: 1.5)
    began, take_over = list[int](), compiled.CompiledSearch.taking_over
    monkeypatch.setattr(
        compiled.CompiledSearch, "taking_over", lambda search: began.append(search.distinct) or take_over(search)
    )
    assert outcome(explore(SPEC, PROPERTIES, SMALL, threads=threads, engine="auto")) == outcome(alone)
    assert [(count >= (500 if known else 3000)) for count in began] == [True]
    monkeypatch.setattr(compiled, "is_possible", lambda _: False)
    assert outcome(explore(SPEC, PROPERTIES, SMALL, threads=threads, engine="auto")) == outcome(alone)
    assert len(began) == 1


def test_what_takes_long_to_compile_waits() -> None:
    """A refinement's conditions are many times as much to compile as the yardstick."""
    variant = find("transactions/v2")[1]
    assert variant is not None
    efforts = [
        compiled.effort(explore(spec, asked, bounds, max_depth=0).kernels)
        for spec, asked, bounds in (
            (SPEC, PROPERTIES, TWO_TASKS),
            (variant.spec, {"does_as_the_core": variant.asked["does_as_the_core"]}, bounds_of(variant, "smoke")),
        )
    ]
    assert efforts[0] == 1 and efforts[1] > 5


def test_code_that_was_compiled_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the file that numba keeps in the cache."""
    pytest.importorskip("numba", reason="needs the extra fast")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    spec, bounds = settle(TicketLock.spec), {"customers": 1, "tickets": 2}
    kernels = explore(spec, {}, bounds, max_depth=1).kernels
    assert compiled.is_possible(kernels) and not compiled.was_compiled(kernels)
    explore(spec, {}, bounds, max_depth=1, engine="numba")
    assert compiled.was_compiled(kernels)


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without numba its engine says what to install."""
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    monkeypatch.setattr(jit_cache.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(loaded.NotInstalled, match=r"pip install 'numba>=[\d.]+', or use "):
        explore(SPEC, PROPERTIES, SMALL, engine="numba")
    with pytest.raises(ValueError, match="engine 'tlc' is unknown"):
        explore(SPEC, PROPERTIES, SMALL, engine="tlc")


def test_stopped_at_so_many_states() -> None:
    """A search stopped by its limit says so, and calls unknown what it has not seen violated."""
    found = explore(SPEC, PROPERTIES, SMALL, max_states=500)
    assert not found.complete
    assert found.stopped == "more than 500 states"
    assert found.verdicts["no_zombie"] == found.verdicts["counts_match"] == "unknown"
    assert found.verdicts["a_zombie_shut_out"] == "unknown"
    assert found.verdicts["a_second_count"] == "holds"
    assert 500 < found.distinct < 18301


def test_stopped_before_memory_runs_out() -> None:
    """A search that would not fit stops early, says so, and has warned before."""
    heard: list[Progress] = []
    found = explore(SPEC, PROPERTIES, TWO_TASKS, memory_limit=4 << 20, progress=heard.append)
    assert not found.complete
    assert found.stopped is not None
    assert found.stopped.startswith("memory")
    assert found.distinct < 631237
    assert sum(h.warning is not None for h in heard) >= 2
    assert all(h.distinct * 16 < 4 << 20 for h in heard)


def test_stopped_when_violated() -> None:
    """The level that breaks a promise is the last one, with the shortest trace."""
    broken = mutation(Kip618Yardstick.spec, "618.24", "anyone").apply()
    found = explore(broken, PROPERTIES, TWO_TASKS, stop_when_violated=True)
    assert found.violated == ["counts_match"]
    assert found.depth == len(found.traces["counts_match"].states) == 7
    assert found.verdicts["no_zombie"] == "unknown"


def test_stopped_when_all_are_violated() -> None:
    """The search goes on until each of the promises asked is broken, and no further."""
    variant = ID_BLOCKS.variant("zookeeper")
    broken = mutation(variant.properties.protocol.spec, "730.2", "not_read_again").apply()
    asked = {name: variant.asked[name] for name in ("disjoint_blocks", "no_id_twice")}
    found = explore(broken, asked, variant.bounds["smoke"], stop_when_violated="all")
    assert sorted(found.violated) == ["disjoint_blocks", "no_id_twice"]
    assert found.depth == found.traces.steps("no_id_twice") + 1 > found.traces.steps("disjoint_blocks") + 1
    assert not found.complete


def test_stopped_after_some_steps() -> None:
    """States at that distance are the last ones."""
    found = explore(SPEC, PROPERTIES, SMALL, max_depth=3)
    assert (found.depth, found.complete) == (4, False)
    assert found.stopped == "more than 3 steps"


def test_progress_is_reported_level_by_level(alone: Exploration) -> None:
    """The callback hears of each level with the counts so far."""
    heard: list[Progress] = []
    explore(SPEC, PROPERTIES, SMALL, progress=heard.append)
    assert [h.frontier for h in heard][: alone.depth] == alone.levels
    assert heard[-1].distinct == alone.distinct
    assert heard[-1].generated == alone.generated


def test_the_graph_holds_every_step(alone: Exploration) -> None:
    """The graph has each state and step once, and no step skips a level."""
    made = graph(alone)
    assert made.states == alone.distinct
    assert made.source.size == alone.generated - 1
    assert bool(np.all(made.depth[made.target] <= made.depth[made.source] + 1))
    reached = np.zeros(made.states, np.bool_)
    reached[made.target] = True
    assert bool(reached[1:].all())
    assert not made.unsearched.any()


def test_a_stopped_search_marks_its_edge() -> None:
    """States whose successors were not searched are marked in the graph."""
    found = explore(SPEC, PROPERTIES, SMALL, max_states=500)
    made = graph(found)
    assert made.unsearched.any()
    assert set(made.depth[made.unsearched].tolist()) == {found.depth - 1}


def test_dropping_a_rule_is_seen() -> None:
    """Without its guard the same action has more steps: counts notice any change of meaning."""
    action = SPEC.actions["check_before"]
    changed = dataclasses.replace(action, guards=action.guards[:1])
    looser = dataclasses.replace(SPEC, actions=SPEC.actions | {"check_before": changed})
    assert explore(looser, {}, SMALL).generated > explore(SPEC, {}, SMALL).generated
