"""What is checked out: the commit, and the code by which a result of hours stays one.

A campaign is stopped and goes on, and meanwhile a page of documentation or another result is committed.  So a result
is kept with the commit at which it came, and counts as long as the code that brought it about is the same.
"""

import hashlib
import subprocess
from functools import cache
from pathlib import Path

from fencepost.properties.registry import PROTOCOLS, folder

ROOT = Path(__file__).parents[2]
PARTS = ("model", "properties", "reference_impl")
DIGITS = 12


@cache
def commit() -> str:
    """The commit of the checkout, with a plus where files differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    return git("rev-parse", f"--short={DIGITS}", "HEAD") + (
        "+" if git("status", "--porcelain", "--untracked-files=no") else ""
    )


@cache
def changed(since: str, further: tuple[str, ...]) -> list[str]:
    """Files of the checkout that differ from a commit, of those on which results depend."""
    parts = (*PARTS, *further, ".ci/constraints.txt")
    words = ("git", "diff", "--name-only", since.removesuffix("+"), "--", *parts)
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


@cache
def code(protocol: str, *further: str) -> str:
    """A hash of the models, properties and reference implementations but those of other protocols, of ``further`` files
    and folders of the checkout, and of the versions of what it is installed with."""
    others = {folder(name) for name in PROTOCOLS} - {folder(protocol)}
    files = [path for part in (*PARTS, *further) for path in [ROOT / part, *sorted((ROOT / part).rglob("*.py"))]]
    own = [path for path in files if path.is_file() and others.isdisjoint(path.relative_to(ROOT).parts)]
    found = hashlib.sha256()
    for path in [*own, ROOT / ".ci" / "constraints.txt"]:
        found.update(f"{path.relative_to(ROOT)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:DIGITS]
