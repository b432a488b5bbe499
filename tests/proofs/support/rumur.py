"""Rumur, a model checker of Murphi, which is held against the explorer: it makes a C program of a module, and that
searches."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

TOOLS = {"rumur": "apt-get install rumur", "cc": "apt-get install gcc libc6-dev"}


@dataclass(frozen=True)
class Checked:
    """What Rumur came to.  ``violated``: the invariant that fails, if one does; ``steps``: of its counterexample."""

    distinct: int
    fired: int
    violated: str | None
    steps: int
    output: str


def rumur(folder: Path, stem: str, command: str) -> Checked:
    """Checks a module by the command in its header, compiled in less time; fails with Rumur's own words where it
    cannot be read."""
    for tool, how in TOOLS.items():
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed, and what is exported as Murphi needs it: {how}")
    assert f"cc -O2 {stem}.c" in command
    quick = command.replace("cc -O2", "cc -O1").replace("rumur ", "rumur --quiet ")
    ran = subprocess.run(["sh", "-c", quick], cwd=folder, capture_output=True, text=True, check=False)
    found = re.search(r"(\d+) states, (\d+) rules fired", ran.stdout)
    assert found, (ran.stdout + ran.stderr)[-3000:]
    failed = re.search(r'^\s*invariant "?(\w+)"? failed', ran.stdout, re.MULTILINE)
    assert (failed is None) == ("No error found" in ran.stdout), ran.stdout[-3000:]
    steps = len(re.findall(r"^Rule ", ran.stdout, re.MULTILINE))
    return Checked(int(found[1]), int(found[2]), failed[1] if failed else None, steps, ran.stdout)
