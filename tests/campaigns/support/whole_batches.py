"""One batch of histories of the whole system as it is, generated and replayed, and the code that its result depends on.

A module of its own because processes of a campaign import it.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

from checked_out import DIGITS, ROOT
from fencepost.proofs.scale.generate import generate_set
from fencepost.proofs.traces.predicted import replay_set
from fencepost.properties.registry import PROTOCOLS
from fencepost.reference_impl.systems.end_to_end import simulate

BATCH = 200
PROTOCOL, SIMULATOR = "end-to-end", "fencepost.reference_impl.systems.end_to_end:simulate"

LOADED = """
import sys, tempfile
from fencepost.proofs.scale.generate import generate_set
from fencepost.proofs.traces.predicted import replay_set
with tempfile.TemporaryDirectory() as folder:
    generate_set(f"{folder}/h", sys.argv[1], histories=1, seed=1, config=None, protocol=sys.argv[2], cores=1)
    replay_set(f"{folder}/h", cores=1)
print(*sorted(m.__file__ for name, m in sys.modules.items() if name.split(".")[0] == "fencepost" and m.__file__))
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def batch(seed: int, histories: int = BATCH, config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What came of so many histories: by vocabulary, how many events, how often there was something to judge for each
    property, what is violated, and how many histories their model did not follow to their ends, and why."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        made = generate_set(
            Path(folder) / "h", SIMULATOR, histories=histories, seed=seed, config=config, protocol=PROTOCOL,
            variant="whole", cores=1,
        )  # fmt: skip
        generated = time.process_time()
        reports = replay_set(Path(folder) / "h", cores=1)
    return {
        "seed": seed, "histories": histories, "events": {name: r.events for name, r in reports.items()},
        "judged": {name: r.judged for name, r in reports.items()},
        "violations": {
            f"{name}: {broken}": str(found["first"])
            for name, r in reports.items()
            for broken, found in r.violations.items()
        },
        "undecided": {name: r.undecided for name, r in reports.items() if r.undecided},
        "faults": dict(made.faults),
        "generate_seconds": round(generated - began), "replay_seconds": round(time.process_time() - generated),
    }  # fmt: skip


@cache
def own_code() -> str:
    """A hash of all files of the project from which a process loads anything that generates a history and replays it,
    of this one, and of the pinned versions of what else it loads. What no such process loads can change no batch: other
    protocols, engines that search models, defects, documents."""
    words = (sys.executable, "-c", LOADED, SIMULATOR, PROTOCOL)
    printed = subprocess.run(words, cwd=ROOT / "tests", capture_output=True, text=True, check=True).stdout
    own, _, modules = printed.strip().partition("\n")
    files = [Path(name).resolve() for name in own.split()]
    return hash_of((*files, Path(__file__).resolve()), *pins_of(modules.split()))


def pins_of(modules: Iterable[str]) -> list[str]:
    """The pinned versions of the packages that these modules are of."""
    known = packages_distributions()
    wanted = {re.sub(r"[-_.]+", "-", name).lower() for module in modules for name in known.get(module, ())}
    pins = (ROOT / ".ci" / "constraints.txt").read_text(encoding="utf-8").split()
    return [pin for pin in pins if re.sub(r"[-_.]+", "-", pin.partition("==")[0]).lower() in wanted]


def hash_of(files: Iterable[Path], *further: str) -> str:
    """Of some files of the checkout, and of what is said further."""
    found = hashlib.sha256()
    for path in sorted(set(files)):
        found.update(f"{path.relative_to(ROOT)}\n{_text(path)}".encode())
    for words in further:
        found.update(f"\0{words}".encode())
    return found.hexdigest()[:DIGITS]


def _text(path: Path) -> str:
    """What a file says; the registry without the lines of protocols that are not in the system."""
    text = path.read_text(encoding="utf-8")
    if path == ROOT / "properties" / "registry.py":
        for name in PROTOCOLS.keys() - simulate.vocabularies({}).keys():
            text = text.replace(f'    "{name}": "{PROTOCOLS[name]}",\n', "")
    return text
