"""The command lines that the README shows, and how they are run."""

import re
import shlex
from pathlib import Path

from connect_logs import unpacked
from transaction_logs import REAL

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
SHELL = [line for kind, text in BLOCKS if kind == "sh" for line in text.splitlines() if line]
COMMANDS = [line for line in SHELL if line.startswith("fencepost ")]
ELSEWHERE = {
    "fencepost necessity --all --table FILE": "tests/proofs/necessity/test_tables.py",
    "fencepost audit CERTIFICATES": "tests/proofs/engines/second/test_audit.py",
    "fencepost desk PAGE --serve": "tests/proofs/desk/test_desk_page.py",
}
"""Commands that take long, or what not every machine has, and the tests that run them."""
TO_RUN = {line.partition("  #")[0].rstrip(): line for line in COMMANDS}


def words_of(line: str, place: Path, bootstrap: str) -> tuple[list[str], int]:
    """A command of the README with its placeholders filled in, and the exit code that its comment states."""
    command, _, comment = line.partition("  #")
    if "--worker-logs LOG" in command:
        logs = unpacked("life-4.3.1", place / "connect")
        command = command.replace("BROKER_DIR...", f"{logs}/node-1").replace("LOG ", f"{logs}/w0.log ")
    for name, folder in (("LOG_DIR...", place), ("BROKER_DIR...", REAL)):
        command = command.replace(f" {name}", "".join(f" {folder / f'node-{node}'}" for node in (1, 2, 3)))
    command = command.replace("yardstick DIR", f"yardstick {place / 'tla'}")
    command = command.replace(" RUN.", f" {place / 'run.'}").replace(" ROWS.", f" {place / 'rows.'}")
    command = command.replace("--table FILE", f"--table {place / 'rules.md'}")
    command = command.replace("--certificates DIR", f"--certificates {place / 'certificates'}")
    command = command.replace("FILE", str(place / "clients.jsonl")).replace("HOST:PORT", bootstrap)
    out = place / f"recorded-{len(command)}"
    command = command.replace("--out DIR", f"--out {out}").replace("DIR", str(place / "made"))
    stated = re.search(r"exit code (\d)", comment)
    return shlex.split(command)[1:], int(stated[1]) if stated else 0
