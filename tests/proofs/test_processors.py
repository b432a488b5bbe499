"""Where NumPy sorts without AVX-512."""

import subprocess
import sys

import pytest
from command_line import clean_environment
from fencepost.proofs.processors import VARIABLE, WITH_AVX512, is_zen_4, spare_slow_sorting

AMD = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: {}\nmodel name\t: AMD EPYC\nflags\t\t: sse2 {}\n"
ZEN_4 = AMD.format(25, "avx2 avx512f avx512cd")


@pytest.mark.parametrize(
    ("described", "is_so"),
    [
        (ZEN_4, True),
        (AMD.format(25, "avx2"), False),  # Zen 3
        (AMD.format(26, "avx2 avx512f"), False),  # Zen 5
        (ZEN_4.replace("AuthenticAMD", "GenuineIntel"), False),
        ("", False),
    ],
)
def test_which_processors(described: str, is_so: bool) -> None:
    assert is_zen_4(described) is is_so


def test_what_is_set() -> None:
    """For a release that knows the names, and not where something is set already."""
    for given, release, expected in (
        ({}, "2.4.6", {VARIABLE: WITH_AVX512}),
        ({}, "2.5.0rc1", {VARIABLE: WITH_AVX512}),
        ({}, "2.3.1", {}),
        ({VARIABLE: ""}, "2.4.6", {VARIABLE: ""}),
    ):
        spare_slow_sorting(given, ZEN_4, release)
        assert given == expected


def test_numpy_takes_it() -> None:
    """Without a warning, whatever this processor is, and sorts."""
    program = (
        "import os, importlib.metadata as m, fencepost.proofs.processors as p;"
        "p.spare_slow_sorting(os.environ, {!r}, m.version('numpy'));"
        "import numpy as np; print(np.sort(np.arange(100_000)[::-1] * 3)[1])"
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", program.format(ZEN_4)],
        capture_output=True, text=True, check=True, env=clean_environment(),
    )  # fmt: skip
    assert (ran.stdout, ran.stderr) == ("3\n", "")
