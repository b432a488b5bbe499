"""Other explorers of the KIP-618 yardstick, each run on the same states and promises as ours: SPIN, Stateright, TLC.

Each is a function of the topic's length that returns distinct states, generated states with the start, and seconds of
the search alone by its own account (TLC's with the start of Java, which it does not tell apart). One that cannot be had
skips the test with the reason.
"""

import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tlc import jar

HERE = Path(__file__).parents[1]


@dataclass(frozen=True)
class Searched:
    distinct: int
    generated: int
    seconds: float


def spin(folder: Path, topic: int) -> Searched:
    """SPIN's compiled depth-first search, its usual mode, on one core."""
    _need("spin", "apt-get install spin")
    _need("gcc", "apt-get install gcc")
    _stated("spin", f"-DTOPIC={topic}", "-a", HERE / "kip618.pml", folder=folder)
    _stated("gcc", "-O2", "-w", "-DSAFETY", "-DMEMLIM=18000", "-o", "pan", "pan.c", folder=folder)
    reported = _stated("./pan", "-m2000000", "-w26", folder=folder)
    assert "errors: 0" in reported
    states, steps = (int(_found(rf"(\d+) {what}", reported)) for what in ("states, stored", "transitions"))
    return Searched(states, steps, float(_found(r"elapsed time ([\d.]+) seconds", reported)))


def stateright(folder: Path, topic: int) -> Searched:
    """Stateright's breadth-first search on all cores, compiled as it is released."""
    _need("cargo", "https://rustup.rs")
    source = HERE / "stateright"
    shutil.copytree(source / "src", folder / "src")
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(source / name, folder / name)
    built = subprocess.run(
        ["cargo", "build", "--release", "--locked", "-q"], cwd=folder, capture_output=True, text=True, check=False
    )
    if built.returncode and re.search("failed to (?:download|fetch|get)", built.stderr):
        pytest.skip(f"Stateright cannot be fetched from crates.io: {built.stderr.strip().splitlines()[0]}")
    assert built.returncode == 0, built.stderr
    distinct, generated, seconds = _stated("target/release/kip618", topic, _cores(), folder=folder).split()
    return Searched(int(distinct), int(generated), float(seconds))


def tlc(folder: Path, topic: int) -> Searched:
    """TLC's breadth-first search of the module that `fencepost export` writes, with as many workers as cores."""
    from fencepost.proofs.readings.tla import files, of_variant, write
    from fencepost.properties.catalogue import bounds_of, find

    entry, variant = find("kip618-yardstick/yardstick")
    assert variant is not None
    made = of_variant(entry, variant, bounds_of(variant, "smoke", {"workers": 2, "tasks": 2, "log": topic}))
    write(folder, files([made]))
    started = time.perf_counter()
    reported = _stated(
        "java", "-XX:+UseParallelGC", f"-Djava.io.tmpdir={folder}", "-cp", jar(), "tlc2.TLC", "-deadlock", "-workers",
        _cores(), "-metadir", folder / "meta", "-config", f"{made.stem}.cfg", made.stem, folder=folder,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    generated, distinct = re.findall(r"^([\d,]+) states generated(?: \(.*\))?, ([\d,]+) distinct", reported, re.M)[-1]
    return Searched(*(int(number.replace(",", "")) for number in (distinct, generated)), seconds)


PEERS = {"spin": spin, "stateright": stateright, "tlc": tlc}


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _need(program: str, remedy: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed: {remedy}")


def _stated(*command: object, folder: Path) -> str:
    return subprocess.run(list(map(str, command)), cwd=folder, check=True, capture_output=True, text=True).stdout


def _found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, f"SPIN's report has no {pattern!r}:\n{text}"
    return match[1]
