"""The build backend: setuptools, and a file in the wheel with the commit that it was built from, and its date."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403

ROOT = Path(__file__).parents[1]
COMMIT = Path(__file__).parent / "fencepost" / "commit.txt"


@contextmanager
def _with_commit() -> Iterator[None]:
    """Write the commit's file for the time of a build. A source distribution has it from the checkout that it is of."""
    words = ["git", "-C", str(ROOT), "log", "-1", "--format=%h %cs", "--abbrev=12"]
    try:  # a copy of the tree within another repository is not of its commit
        made = subprocess.run(words, capture_output=True, text=True, check=True) if (ROOT / ".git").exists() else None
    except (OSError, subprocess.CalledProcessError):
        made = None
    if made is None:
        yield
        return
    COMMIT.write_text(made.stdout, encoding="utf-8")
    try:
        yield
    finally:
        COMMIT.unlink()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):  # type: ignore[no-untyped-def]
    with _with_commit():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):  # type: ignore[no-untyped-def]
    with _with_commit():
        return build_meta.build_sdist(sdist_directory, config_settings)
