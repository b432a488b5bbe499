"""Command lines whose exit code and text are compared: those of the README, the help of each command, and input that is
refused.  What depends on the machine or the moment stands as a sign in the text."""

import re
import shlex
import tempfile
from collections.abc import Iterator
from functools import reduce
from pathlib import Path

from command_line import process
from copying_logs import DATA as COPYING
from fencepost.proofs.cli import COMMANDS
from metadata_logs import real_logs
from mock_cluster import MockCluster
from readme_lines import TO_RUN, words_of

APART = ("verify", "explorer", "releases", "findings", "audit", "desk")
"""The first takes minutes and is a part by itself, the second serves, the others print tables that tests compare."""
REFUSED = (
    "explore id-blocks/krafft", "explore id-blocks/kraft --bound copies=x", "explore id-blocks/kraft --bound copy=1",
    "show id-blocks/kraft nonsense", "show id-blocks/kraft 'no id twice'", "prove transactions/v1", "list nonsense",
    "necessity id-blocks --rule nonsense", "agree id-blocks/kraft --implementation nowhere:factory",
    "agree id-blocks/kraft --promise nonsense", "generate id-blocks/kraft", "replay /nowhere", "schema nonsense",
    "record /nowhere --out /nowhere/either", "export id-blocks DIR --reduce nonsense", "simulate id-blocks/nonsense",
    "validate id-blocks/kraft /nowhere.json", "verify nonsense", "dangers nonsense",
)  # fmt: skip
EACH = (
    "list", "list --verbose", "list transactions", "list task-counts", "explore kip618-yardstick/plain",
    "show id-blocks/kraft-answer-first 'no id twice'", "show task-counts/zombie-writes 'no zombie commits'",
    "prove id-blocks/kraft", "prove group-fencing/shipped", "simulate id-blocks/kraft-answer-first",
    "agree id-blocks/zookeeper --examples 10", "agree task-counts/shipped --examples 5", "necessity source-commits",
    "generate source-commits/proposed DIR2 --histories 50", "replay DIR2", "dangers group-fencing/shipped",
    "record --protocol group-fencing COPYING/node-1 --clients COPYING/clients.jsonl --out DIR",
)  # fmt: skip
UNSTABLE = (
    (r"\b\d+(\.\d+)? (ms|s|min|h)\b", "N s"), (r"\b[\d.,]+ ?k? (events|states|transitions|steps)/s", r"N \1/s"),
    (r"\b[\d.,]+[kM]? per second", "N per second"), (r"127\.0\.0\.1:\d+", "HOST:PORT"),
    (r"^\s*read \S+( and \d+ more)? in ROOT, hash \w+", "read FILES"), (r"recorded-\d+", "recorded-N"),
    (r"\b\d{4}-\d\d-\d\d(T[\d:.+Z]+)?", "DATE"), (r"\b[0-9a-f]{40}\b", "HASH"), (r"\d[\d.]* [kMG]i?B\b", "N B"),
)  # fmt: skip


def lines() -> Iterator[str]:
    """Of each command line: the line itself, its exit code, and what it printed to each stream."""
    with tempfile.TemporaryDirectory() as folder, MockCluster() as cluster:
        place = Path(folder)
        real_logs(place)
        readme = [words_of(line, place, cluster.bootstrap)[0] for line in TO_RUN.values()]
        own = [_words(line, place) for line in (*EACH, *REFUSED)]
        for words in [*readme, *own, *([command, "--help"] for command in sorted(COMMANDS))]:
            if words[0] in APART and "--help" not in words:
                continue
            here = place if any(word.startswith("lease") for word in words) else None
            ran = process(*words, cwd=here, COLUMNS="120", XDG_CACHE_HOME=str(place / "cache"))
            yield f"$ fencepost {_stable(' '.join(words), place)}"
            yield f"exit code {ran.code}"
            for sign, text in (("  ", ran.out), ("! ", ran.err)):
                yield from (f"{sign}{' '.join(_stable(line, place).split())}" for line in text.splitlines())


def _words(line: str, place: Path) -> list[str]:
    places = {"DIR2": place / "second", "DIR": place / "third", "COPYING": COPYING / "classic"}
    return shlex.split(reduce(lambda words, name: words.replace(name, str(places[name])), places, line))


def _stable(line: str, place: Path) -> str:
    line = line.replace(str(place), "PLACE").replace(str(Path(__file__).parents[3]), "ROOT")
    for pattern, sign in UNSTABLE:
        line = re.sub(pattern, sign, line)
    return line
