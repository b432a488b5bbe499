"""Which protocols `verify` was run on, of which files, and on which it has to be run again.

    python tests/script.py tests/golden/support/verified.py [--all]

The script runs `verify` on each protocol whose row is not of the present files (with `--all`, on every protocol), and
writes the rows into ``tests/golden/kept/verified.json`` if every verdict is as expected. A row has the hash of all that
the verdicts depend on, the number of verdicts, seconds of processor time, commit and date. The README's test computes
all verdicts of protocols without such a row, of a sample of the shorter ones that each commit draws anew, and of every
protocol at night.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from command_line import ALL_CORES, Ran, process, read_json
from fencepost.proofs.dependencies import hash_of
from fencepost.properties.catalogue import ProtocolEntry, protocols

ROOT = Path(__file__).parents[3]
RECORD = Path(__file__).parents[1] / "kept" / "verified.json"
PROFILE, SEED = "smoke", 1
SAMPLE_SECONDS, LONGEST = 40, 60
"""Processor time of the sample, at least, by the rows, and of the longest protocol in it, so that no commit waits for
more than the two together; all protocols take thirteen times as much as the sample."""

Row = dict[str, Any]


def verified() -> list[ProtocolEntry]:
    return [entry for entry in protocols().values() if entry.verified]


def rows() -> dict[str, Row]:
    """The row of each protocol that has one."""
    found: list[Row] = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else []
    return {row["protocol"]: row for row in found}


def stale() -> list[str]:
    """Protocols without a row of the present files."""
    recorded = rows()
    return [e.name for e in verified() if recorded.get(e.name, {}).get("depends") != hash_of(e, PROFILE, SEED)]


def sample(drawn_by: str, of: Iterable[str]) -> list[str]:
    """Protocols in an order that ``drawn_by`` determines, as many as make up the seconds of a sample."""
    recorded, chosen = rows(), list[str]()
    short = (name for name in of if recorded[name]["seconds"] <= LONGEST)
    for name in sorted(short, key=lambda name: crc32(f"{drawn_by} {name}".encode())):
        if sum(recorded[each]["seconds"] for each in chosen) < SAMPLE_SECONDS:
            chosen.append(name)
    return chosen


def commit() -> str:
    """The present commit, with a plus if files differ from it, or the empty text outside a repository."""
    ran = subprocess.run(["git", "describe", "--always", "--dirty=+", "--abbrev=12"],
                         cwd=ROOT, capture_output=True, text=True, check=False)  # fmt: skip
    return ran.stdout.strip()


def spent(*words: object) -> tuple[float, Ran]:
    """Processor seconds of a command and all its processes; those of other tests don't count."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    ran = process(*words, cpus=ALL_CORES)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ran


def verify(names: Sequence[str], folder: Path) -> tuple[float, Ran, list[Row]]:
    """Run the command on protocols and compute everything: processor seconds, what it came to, and its verdicts."""
    file = folder / "verified.json"
    took, ran = spent("verify", *names, "--fresh", "--json", file)
    assert ran.code == 0, ran.out + ran.err
    assert ran.err == ""
    results: list[Row] = read_json(file)["results"]
    assert [row for row in results if row["verdict"] != row["expected"]] == []
    return took, ran, results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", help="every protocol, not those alone whose files have changed")
    given = parser.parse_args()
    for name in [entry.name for entry in verified()] if given.all else stale():
        depends = hash_of(protocols()[name], PROFILE, SEED)
        with tempfile.TemporaryDirectory() as folder:
            took, _, results = verify([name], Path(folder))
        row = {"protocol": name, "depends": depends, "verdicts": len(results), "seconds": round(took),
               "commit": commit(), "date": time.strftime("%Y-%m-%d", time.gmtime())}  # fmt: skip
        known = {entry.name for entry in verified()}
        kept = [each for each in {**rows(), name: row}.values() if each["protocol"] in known]
        lines = ",\n".join(json.dumps(each) for each in sorted(kept, key=lambda each: str(each["protocol"])))
        RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{name}: {len(results)} verdicts, {took:.0f} s of processor time", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
