"""This module has Ethos check proofs that cvc5 has printed.

Ethos is a program of its own, which reads a proof in the format CPC together with the rules of that format, which
cvc5's sources define (`proofs/eo/cpc`). It says *correct* if each step follows by a rule and the last one is false, and
*incomplete* if a step was taken on trust. Its ``--reference`` names the statement: an assumption of the proof that is
no assertion of that file is an error. A proof is read first by `foreign`, since a file for Ethos could also declare
rules of its own, or include other files, after which Ethos no longer compares assumptions.
"""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from fencepost.model.language.checks.errors import InputError

PROGRAM, RULES = "FENCEPOST_ETHOS", "FENCEPOST_CPC"
"""Environment variables with the program, if it is not on PATH, and the directory of the rules."""
TOP = "Cpc.eo"
SECONDS = 60
"""A check takes 5 to 50 ms of a core. One that takes this long is ended, and nothing is certified by it."""
Checked = Literal["correct", "incomplete", "refused"]
COMMAND = re.compile(r"\((?:define|assume|assume-push|step|step-pop) @[a-z]+\d+(?: .*)?\)")
STRING = re.compile(r'"[^"]*"')
HOW_TO_GET = (
    f"build https://github.com/cvc5/ethos, and put it on PATH or into {PROGRAM}; "
    f"set {RULES} to the directory proofs/eo/cpc of https://github.com/cvc5/cvc5"
)


class NoChecker(InputError):
    """This error means that Ethos, or the rules that it reads, were not found."""


@dataclass(frozen=True)
class Verdict:
    """A `Verdict` is what Ethos says of a proof, and ``why`` if it is not *correct*."""

    says: Checked
    why: str = ""


@dataclass(frozen=True)
class Ethos:
    """An `Ethos` is the program, and the file with the rules."""

    program: Path
    rules: Path

    @classmethod
    def found(cls) -> "Ethos":
        """Return the checker that the environment names. Errors: NoChecker, with how to get it."""
        program, rules = os.environ.get(PROGRAM) or shutil.which("ethos"), os.environ.get(RULES)
        if program is None or not os.access(program, os.X_OK):
            raise NoChecker(f"there is no Ethos{f' at {program}' if program else ''}; {HOW_TO_GET}")
        if rules is None or not (Path(rules) / TOP).is_file():
            raise NoChecker(f"there are no rules of CPC{f' in {rules}' if rules else ''}; {HOW_TO_GET}")
        return cls(Path(program).resolve(), Path(rules).resolve() / TOP)

    def version(self) -> str:
        """Return the version of the program, and the first digits of the hash of the rules."""
        ran = subprocess.run([self.program, "--show-config"], capture_output=True, text=True, check=False)
        found = re.search(r"version ([\d.]+)", ran.stdout)
        if found is None:
            raise NoChecker(f"{str(self.program)!r} is no Ethos, as --show-config names no version; {HOW_TO_GET}")
        hashed = hashlib.sha256()
        for file in sorted(self.rules.parent.rglob("*.eo")):
            hashed.update(f"{file.relative_to(self.rules.parent)}\n".encode() + file.read_bytes())
        return f"Ethos {found[1].rstrip('.')}, rules {hashed.hexdigest()[:12]}"

    def check(self, statement: Path, proof: Path) -> Verdict:
        """Return whether the proof, whose first line names the statement, is one of it."""
        first, _, rest = proof.read_text(encoding="utf-8").partition("\n")
        if first != reference(statement.name):
            return Verdict("refused", f"its first line is not {reference(statement.name)}")
        if (line := foreign(rest)) is not None:
            return Verdict("refused", f"line {line + 1} is no command of a proof")
        words = [str(self.program), f"--include={self.rules}", f"--reference={statement.resolve()}"]
        words += ["--require-proof-of-false"]  # of what comes in on standard input
        try:
            ran = subprocess.run(words, input=rest, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Verdict("refused", f"Ethos has not ended within {SECONDS} s")
        printed = ran.stdout.split()
        if ran.returncode == 0 and printed in (["correct"], ["incomplete"]):
            return Verdict("correct") if printed == ["correct"] else Verdict("incomplete", "a step is taken on trust")
        errors = [line for line in (ran.stderr + ran.stdout).splitlines() if line.startswith("Error")]
        return Verdict("refused", (errors or [f"Ethos ended with code {ran.returncode}"])[0])


def reference(statement: str) -> str:
    return f'(reference "{statement}")'


def foreign(proof: str) -> int | None:
    """Return the number of the first line that is not exactly one definition, assumption or step, of a name that cvc5
    makes, or None if there is none. A definition or step of another name could replace a symbol of the statement."""
    for number, line in enumerate(proof.splitlines(), 1):
        bare = STRING.sub("s", line)
        if COMMAND.fullmatch(bare) is None or any(sign in bare for sign in '"|;\\') or not _one(bare):
            return number
    return None if proof.strip() else 1


def _one(line: str) -> bool:
    """Return whether the first parenthesis is closed by the last one."""
    depth = 0
    for place, sign in enumerate(line):
        depth += (sign == "(") - (sign == ")")
        if depth <= 0 and place < len(line) - 1:
            return False
    return depth == 0
