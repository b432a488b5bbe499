"""Edits of rules, which the desk and the command must judge alike, and what the command says of them."""

import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path

_KRAFT = ("id-blocks/kraft", "model/id_blocks/kraft.py")
EDITS = (
    (*_KRAFT, '        require(s.block_end(r) <= s.committed, rule="730.7")\n', ""),
    (*_KRAFT, "            s.next = first + s.size", "            s.next = first"),
    (*_KRAFT, "        s.first[r] = first\n", "        s.first[r] = first + 0\n"),
    ("idempotence/idempotent", "model/transactions/parts/sequences.py",
     '        require(s.comes_next(n, e), rule="txn.13")\n', ""),
    ("task-counts/core-shipped", "model/task_counts/abstract/core.py", "single = (count == 1) & (size == 1)",
     "single = size == 1"),
)  # fmt: skip
"""The variant, the file, a piece of its text, and what is in its place."""


def unpacked(archive: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        opened.extractall(folder)
    return folder


def edited(folder: Path, edit: tuple[str, str, str, str]) -> str:
    """The text of the file after the edit, whose piece is there once."""
    text = (folder / "fencepost" / edit[1]).read_text(encoding="utf-8")
    assert text.count(edit[2]) == 1, edit
    return text.replace(edit[2], edit[3])


def by_command(folder: Path, edit: tuple[str, str, str, str]) -> dict[str, str]:
    """The verdicts of ``fencepost prove`` on an unpacked package with the edit."""
    name, path, _, _ = edit
    file = folder / "fencepost" / path
    before = file.read_text(encoding="utf-8")
    file.write_text(edited(folder, edit), encoding="utf-8")
    report = folder / "report.json"
    try:
        command = [sys.executable, "-m", "fencepost", "prove", name, "--fresh", "--json", str(report)]
        subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(folder), "HOME": str(folder)}, check=False)
        return {row["property"]: row["verdict"] for row in json.loads(report.read_text(encoding="utf-8"))}
    finally:
        file.write_text(before, encoding="utf-8")
