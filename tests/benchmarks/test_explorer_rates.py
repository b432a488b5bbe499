"""How fast the explorer is: the same protocol, states and promises as SPIN, Stateright and TLC search, in one run.

The ratios are of wall-clock times on the same machine: SPIN on one core, its usual mode, the others on all, with
promises checked and traces kept by all.
"""

import json
import os
import subprocess
import sys
import tempfile
import timeit
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SCRIPT
from fencepost.model.kip618_yardstick import Kip618Yardstick
from fencepost.model.language.derived.mutations import settle
from fencepost.proofs.engines.explore import Exploration, explore, kernels, memory
from fencepost.properties.kip618_yardstick import Kip618YardstickProperties
from layouts import LAYOUTS
from peers import PEERS, spin

COUNTS = {3: (631_237, 5_879_559), 4: (9_601_875, 93_295_805)}
AT_LEAST = {"numpy": 4.0, "auto": 8.0}
"""By engine, times SPIN's speed.  Measured on two cores of an EPYC (Zen 4) on 2026-11-26, where SPIN took 21 s of
processor time and others were at work: 5.2 and 13.7.  The ratio is of processors too, and not of the programs alone."""
AT_LEAST_OF_OTHERS = {"stateright": 2.0, "tlc": 10.0}
"""By peer, times its speed with NumPy alone.  Measured on 2026-11-26 beside other work: 4.9 to 6.5, and 64 to 75."""
BYTES_A_STATE = 5e9 / 102e6
"""The most that a large search may take; 33 were measured."""
IN_TWO_WORDS = 2.2
"""How many times as long the same states may take in two words: 1.5 were measured."""


def random_access() -> float:
    """Nanoseconds for an element of 128 MB, as large as the table of these states, picked at random by NumPy: what a
    search would take that looked each step up so, and did nothing else."""
    table = np.ones(1 << 24, np.int64)
    places = np.random.default_rng(1).integers(0, table.size, 1 << 22)
    return min(timeit.repeat(lambda: table.take(places), number=1, repeat=3)) / places.size * 1e9


@pytest.mark.nightly
def test_no_cliff_beyond_a_word(benchmark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """9.6 million states, packed into 63 bits or spread over two words.  (The first round of each may compile.)"""
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")

    def compare() -> float:
        taken: dict[str, list[float]] = {"one word": [], "two words": []}
        for _ in range(3):
            for layout, times in taken.items():
                monkeypatch.setattr(kernels, "pack_fields", LAYOUTS[layout])
                result = search(4, "numba")
                assert (result.distinct, result.generated) == COUNTS[4]
                times.append(result.seconds)
        return min(taken["two words"]) / min(taken["one word"])

    ratio = benchmark.pedantic(compare, rounds=1)
    benchmark.extra_info["times as long in two words"] = round(ratio, 2)
    assert ratio <= IN_TWO_WORDS, f"{ratio:.1f} times as long in two words; was the machine busy?"


@pytest.mark.nightly(nights=20)
def test_a_hundred_million_states(benchmark: Any) -> None:
    """102 million, in a process whose memory is looked at afterwards."""
    pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    if memory.available() < 6e9:
        pytest.skip("it takes 4 GB, and there are not 6 to be had")
    result, most = benchmark.pedantic(apart, args=(5,), rounds=1)
    assert (result["distinct"], result["generated"]) == (102_209_305, 1_027_658_929)
    benchmark.extra_info.update({"seconds": result["seconds"], "bytes a state": round(most / result["distinct"])})
    assert most <= BYTES_A_STATE * result["distinct"]


def apart(topic: int) -> tuple[dict[str, Any], int]:
    """The search by the command: its report, and the most bytes that its process held."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        words = ["explore", "kip618-yardstick/yardstick", "--bound", f"log={topic}", "--bound", "tasks=2"]
        program = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        command = [sys.executable, "-c", program, str(SCRIPT), *words, "--json", str(report)]
        ran = subprocess.run(command, check=True, capture_output=True, text=True)
        return json.loads(report.read_text()), int(ran.stdout) * 1024


def search(topic: int, engine: str) -> Exploration:
    bounds = {"workers": 2, "tasks": 2, "log": topic}
    return explore(settle(Kip618Yardstick.spec), Kip618YardstickProperties.properties, bounds, engine=engine)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_rate(benchmark: Any, engine: str) -> None:
    """631,237 states with promises checked and traces kept, by each engine (compiled beforehand)."""
    if engine == "numba":
        pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    result = benchmark.pedantic(search, args=(3, engine), rounds=3, warmup_rounds=1)
    assert (result.distinct, result.generated) == COUNTS[3]
    if benchmark.enabled:
        benchmark.extra_info["states per second"] = round(result.distinct / benchmark.stats.stats.median)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", AT_LEAST)
def test_times_as_fast_as_spin(benchmark: Any, tmp_path: Path, engine: str) -> None:
    """9.6 million states: both find the same, and the search itself takes a part of SPIN's time.  (Of two rounds, so
    that code is in the cache.)"""
    if engine == "auto":
        pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    by_spin = spin(tmp_path, 4)
    assert (by_spin.distinct, by_spin.generated) == COUNTS[4]
    made = [benchmark.pedantic(search, args=(4, engine), rounds=1) if n else search(4, engine) for n in range(2)]
    assert [(result.distinct, result.generated) for result in made] == 2 * [COUNTS[4]]
    best = min(result.seconds for result in made)
    ratio, cores = by_spin.seconds / best, len(os.sched_getaffinity(0))
    benchmark.extra_info |= {
        "SPIN seconds": by_spin.seconds,
        "times as fast as SPIN": round(ratio, 1),
        "states/s": round(by_spin.distinct / best),
        "ns of a core for a step": round(1e9 * cores * best / by_spin.generated, 1),
        "ns of a core for a random access": round(random_access(), 1),
    }
    assert ratio >= AT_LEAST[engine], f"only {ratio:.1f} times as fast as SPIN; was the machine busy?"


@pytest.mark.nightly
@pytest.mark.parametrize("peer", AT_LEAST_OF_OTHERS)
def test_times_as_fast_as_others(benchmark: Any, tmp_path: Path, peer: str) -> None:
    """631,237 states, of which TLC takes half a minute: all find the same."""
    other = PEERS[peer](tmp_path, 3)
    assert (other.distinct, other.generated) == COUNTS[3]
    made = benchmark.pedantic(search, args=(3, "numpy"), rounds=1, warmup_rounds=1)
    assert (made.distinct, made.generated) == COUNTS[3]
    ratio = other.seconds / made.seconds
    benchmark.extra_info |= {f"{peer} seconds": round(other.seconds, 2), "times as fast with NumPy": round(ratio, 1)}
    assert ratio >= AT_LEAST_OF_OTHERS[peer], f"only {ratio:.1f} times as fast as {peer}; was the machine busy?"
