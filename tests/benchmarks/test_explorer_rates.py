"""How fast the explorer is: the same protocol, states and promises as SPIN's compiled depth-first search, in one run.

The ratio is of wall-clock times on the same machine: SPIN on one core, its usual mode, the explorer on all, with
promises checked and traces kept by both.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable
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

COUNTS = {3: (631_237, 5_879_559), 4: (9_601_875, 93_295_805)}
AT_LEAST = {"numpy": 4.0, "auto": 8.0}
"""By engine, times SPIN's speed.  Measured on two cores of an EPYC (Zen 4) on 2026-11-26, where SPIN took 21 s of
processor time and others were at work: 5.2 and 13.7.  The ratio is of processors too, and not of the programs alone."""
BYTES_A_STATE = 5e9 / 102e6
"""The most that a large search may take; 33 were measured."""
IN_TWO_WORDS = 2.2
"""How many times as long the same states may take in two words: 1.5 were measured."""
PROTOCOL = Path(__file__).with_name("kip618.pml")


@pytest.fixture(scope="module")
def spin(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], tuple[int, int, float]]:
    """Runs SPIN's search of a topic of that length: states, steps and the start, seconds by its own account."""
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed: apt-get install spin gcc")

    def run(topic: int) -> tuple[int, int, float]:
        folder = tmp_path_factory.mktemp(f"spin{topic}")

        def call(*command: str) -> str:
            return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout

        call("spin", f"-DTOPIC={topic}", "-a", str(PROTOCOL))
        call("gcc", "-O2", "-w", "-DSAFETY", "-DMEMLIM=18000", "-o", "pan", "pan.c")
        said = call("./pan", "-m2000000", "-w26")
        assert "errors: 0" in said
        states, steps = (int(found(rf"(\d+) {what}", said)) for what in ("states, stored", "transitions"))
        return states, steps, float(found(r"elapsed time ([\d.]+) seconds", said))

    return run


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, f"SPIN's report has no {pattern!r}:\n{text}"
    return match[1]


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


@pytest.mark.nightly(nights=5)
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


@pytest.mark.parametrize("engine", ["numpy", pytest.param("numba", marks=pytest.mark.nightly)])
def test_rate(benchmark: Any, engine: str) -> None:
    """631,237 states with promises checked and traces kept, by each engine (compiled beforehand)."""
    if engine == "numba":
        pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    result = benchmark.pedantic(search, args=(3, engine), rounds=3, warmup_rounds=1)
    assert (result.distinct, result.generated) == COUNTS[3]
    if benchmark.enabled:  # tests on several workers are not timed
        benchmark.extra_info["states per second"] = round(result.distinct / benchmark.stats.stats.median)


@pytest.mark.nightly
@pytest.mark.parametrize("engine", AT_LEAST)
def test_times_as_fast_as_spin(benchmark: Any, spin: Callable[[int], tuple[int, int, float]], engine: str) -> None:
    """9.6 million states: both find the same, and the search itself takes a part of SPIN's time.  (Of two rounds, so
    that code is in the cache.)"""
    if engine == "auto":
        pytest.importorskip("numba", reason="the numba engine is an extra: pip install -e '.[fast]'")
    states, steps, seconds = spin(4)
    assert (states, steps) == COUNTS[4]
    made = [benchmark.pedantic(search, args=(4, engine), rounds=1) if n else search(4, engine) for n in range(2)]
    assert [(result.distinct, result.generated) for result in made] == 2 * [COUNTS[4]]
    best = min(result.seconds for result in made)
    ratio, cores = seconds / best, len(os.sched_getaffinity(0))
    benchmark.extra_info |= {
        "SPIN seconds": seconds,
        "times as fast as SPIN": round(ratio, 1),
        "states/s": round(states / best),
        "ns of a core for a step": round(1e9 * cores * best / steps, 1),
        "ns of a core for a random access": round(random_access(), 1),
    }
    assert ratio >= AT_LEAST[engine], f"only {ratio:.1f} times as fast as SPIN; was the machine busy?"
