"""The wheel: what it carries, and that each command of README works where nothing but the wheel is there."""

import os
import re
import shutil
import signal
import subprocess
import sys
import venv
import zipfile
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest
from readme_lines import ELSEWHERE, TO_RUN, words_of

ROOT = Path(__file__).parents[1]
FOLDERS = ("model", "properties", "proofs", "reference_impl", ".package", "tests/lock")
LONG = {"fencepost verify", "fencepost explorer"}
"""Commands that tests of their own run."""
NEED_MORE = {"fencepost audit CERTIFICATES", "fencepost desk PAGE --serve"}
"""Commands that need Ethos, or npm's registry; tests of the checkout run them."""
COMMIT = "0123456789ab 2026-01-31"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy of the tree without its git, as a source distribution is, that says which commit it is of."""
    place = tmp_path_factory.mktemp("wheel")
    tree = place / "tree"
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.glob("[!.]*"):
        if path.is_file():
            shutil.copy(path, tree)
    (tree / ".package" / "fencepost" / "commit.txt").write_text(COMMIT)
    offline = int(version("setuptools").split(".")[0]) >= 77  # as pyproject.toml asks; pip fetches it otherwise
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(place), str(tree)]
    done = subprocess.run(
        [*command, *(["--no-build-isolation"] if offline else [])], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (made,) = place.glob("*.whl")
    return made


def carried() -> Iterator[tuple[str, bytes]]:
    """By its name in the wheel, each source file, recorded history, page and table."""
    package = ROOT / ".package"
    for path in (*package.glob("fencepost/*"), *package.glob("fencepost_*"), *package.glob("fencepost_*/*")):
        if path.is_file():
            yield str(path.relative_to(package)), path.read_bytes()
    example = ROOT / "tests" / "lock"
    for path in (*example.glob("*.py"), *example.glob("kept/*")):
        yield f"fencepost_examples/lock/{path.relative_to(example)}", path.read_bytes()
    code = (path for folder in FOLDERS[:4] for path in (ROOT / folder).rglob("*.py"))
    data = (
        "properties/recorded/**/*", "properties/*/kept/*", "proofs/verdicts/*", "proofs/pages/*", "proofs/explorer/*",
        "proofs/desk/*",
        "reference_impl/connect/CONNECT.md", "reference_impl/kafka/KAFKA.md", "model/source_commits/CONTRACT.md",
        "model/language/LANGUAGE.md",
        "reference_impl/live/**/*.xml", "reference_impl/live/**/*.java",
    )  # fmt: skip
    for path in (*code, *(path for pattern in data for path in ROOT.glob(pattern))):
        if path.is_file():
            yield f"fencepost/{path.relative_to(ROOT)}", path.read_bytes()


def test_the_wheel_carries_the_tree(wheel: Path) -> None:
    """Byte for byte, and no file besides.  (About 5 s.)"""
    with zipfile.ZipFile(wheel) as packed:
        inside = {name: packed.read(name) for name in packed.namelist() if ".dist-info/" not in name}
    expected = {**dict(carried()), "fencepost/commit.txt": COMMIT.encode()}
    assert sorted(inside.keys() ^ expected.keys()) == []
    assert [name for name, content in inside.items() if content != expected[name]] == []


class Installed:
    """The wheel in an environment of its own, over the packages that it needs, and an empty folder to work in."""

    def __init__(self, wheel: Path, place: Path) -> None:
        self.folder, environment = place / "empty", place / "venv"
        self.folder.mkdir()
        venv.create(environment, with_pip=False)
        self.python = environment / "bin" / "python"
        (packages,) = environment.glob("lib/python3.*/site-packages")
        (needed,) = (path for path in map(Path, sys.path) if path.name == "site-packages")
        # A folder that is named in a .pth file is a place to import from, and its own .pth files are not read.
        (packages / "needed.pth").write_text(f"{needed}\n")
        words = ["pip", "--python", str(self.python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
        subprocess.run([sys.executable, "-m", *words], check=True)
        self.script = environment / "bin" / "fencepost"

    def run(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FENCEPOST"))}
        command = [*map(str, words)]
        return subprocess.run(
            command, cwd=self.folder, env=clean | environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(wheel, tmp_path_factory.mktemp("installed"))


@pytest.mark.nightly
def test_it_says_what_it_is(installed: Installed) -> None:
    """The version, and the commit and its date, of the wheel and not of the checkout; and where it is."""
    ran = installed.run(installed.script, "--version")
    assert ran.stdout == f"fencepost, version {version('fencepost')} (commit 0123456789ab, 2026-01-31)\n", ran.stderr
    program = "import fencepost, fencepost.model; print(fencepost.__version__, fencepost.__file__)"
    said, file = installed.run(installed.python, "-c", program).stdout.split()
    assert (said, Path(file).parents[4]) == (version("fencepost"), installed.python.parents[1])


def test_nothing_but_spark_needs_pyspark(tmp_path: Path) -> None:
    """Commands that work in processes here do so where PySpark cannot be imported."""
    commands = ["generate id-blocks/kraft made --histories 3", "replay made", "prove id-blocks/zookeeper", "list"]
    program = "import sys; sys.modules['pyspark'] = None; from fencepost.proofs.cli import run; "
    program += f"print([run(words.split()) for words in {commands}], file=sys.stderr)"
    words = [sys.executable, "-c", program]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stderr == "[0, 0, 0, 0]\n"


@pytest.mark.nightly
def test_a_users_package_is_checked_against_its_types(installed: Installed, tmp_path: Path) -> None:
    """The example with annotations, which the language does not mind, passes `mypy --strict`, and is proved."""
    mine = installed.folder / "my" / "lock"
    shutil.copytree(ROOT / "tests" / "lock", mine, ignore=shutil.ignore_patterns("__pycache__", "kept"))
    (mine.parent / "__init__.py").write_text("")
    for name, gives in (("model", "None"), ("claims", "Any"), ("events", "Any")):
        text = (mine / f"{name}.py").read_text()
        text = re.sub(r"def (\w+)\(s((?:, \w+(?:: \w+)?)*)\):", partial(annotated, gives), text)
        first, rest = text.split('"""\n', 1)[0] + '"""\n', text.split('"""\n', 1)[1]
        (mine / f"{name}.py").write_text(f"{first}\nfrom typing import Any\n{rest}")
    (mine / "reference.py").unlink()
    words = ("-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "-p", "my.lock")
    ran = installed.run(installed.python, *words)
    assert ran.stdout.startswith("Success: no issues found in "), ran.stdout
    assert installed.run(installed.script, "prove", "my.lock/fenced").returncode == 0


def annotated(gives: str, head: re.Match[str]) -> str:
    """The head of a method of the language, with types: of a danger, which is a condition, too."""
    name, more = head.groups()
    parameters = [p if ":" in p else f"{p}: Any" for p in more.strip(", ").split(", ") if p]
    return f"def {name}({', '.join(['s: Any', *parameters])}) -> {'Any' if name == 'writes_late' else gives}:"


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_every_command_of_the_readme(installed: Installed, readme_folder: Path, mock_bootstrap: str) -> None:
    """In README's order, with the exit codes that it states; no message speaks of a checkout."""
    assert NEED_MORE < set(ELSEWHERE)
    for command, line in TO_RUN.items():
        if command in NEED_MORE:
            continue
        words, code = words_of(line, readme_folder, mock_bootstrap)
        if f"fencepost {words[0]}" == "fencepost explorer":
            with subprocess.Popen([installed.script, *words], cwd=installed.folder, stdout=subprocess.PIPE) as running:
                assert running.stdout is not None and b"http://127.0.0.1:" in running.stdout.readline()
                running.send_signal(signal.SIGINT)
            continue
        ran = installed.run(installed.script, *words)
        assert ran.returncode == code, (command, ran.stdout[-2000:], ran.stderr)
        assert "checkout" not in ran.stdout + ran.stderr, command
        if command in ELSEWHERE:
            table = (readme_folder / "rules.md").read_text(encoding="utf-8")
            assert "(stored with this release, not run here)" in table


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_the_first_command(installed: Installed, tmp_path: Path) -> None:
    """`fencepost verify` is green, and says where what it judged is."""
    ran = installed.run(installed.script, "verify", XDG_CACHE_HOME=str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f" in {installed.python.parents[1]}" in ran.stdout and "; 0 not as expected" in ran.stdout
