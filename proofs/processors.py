"""This module sets what is slow by default: how often garbage is collected, and options of NumPy for some processors.

On AMD's Zen 4 the instruction by which AVX-512 sorting moves elements is microcode, and sorting takes four times as
long as with AVX2 (34 and 9 ns an element of 32,768; numpy/x86-simd-sort#6, openjdk/jdk#24053). A search with NumPy
spends most of its time on sorting, and takes about half as long without AVX-512."""

import gc
import os
import sys
from collections.abc import MutableMapping
from pathlib import Path

MADE_BETWEEN = (50_000, 20, 20)
"""The garbage collector has these high thresholds in a command and in its processes because most of their objects live
until they end, and the default thresholds would spend a tenth of the time on looking at them again."""


def collect_seldom() -> None:
    gc.set_threshold(*MADE_BETWEEN)


VARIABLE = "NPY_DISABLE_CPU_FEATURES"
WITH_AVX512 = "X86_V4 AVX512_ICL AVX512_SPR"
"""This variable's value has the names of the CPU features in NumPy from 2.4 on. Earlier releases warn about unknown
names, so the variable is not set for them."""


def spare_slow_sorting(environment: MutableMapping[str, str], described: str, release: str) -> None:
    """Set NumPy's variable for the processor ``described`` as in /proc/cpuinfo, unless it is set already. NumPy reads
    the variable when it is imported."""
    if is_zen_4(described) and _at_least(release, (2, 4)):
        environment.setdefault(VARIABLE, WITH_AVX512)


def is_zen_4(described: str) -> bool:
    """Return whether /proc/cpuinfo describes a Zen 4: AMD's family 25 is Zen 3, without AVX-512, and Zen 4."""
    flags = dict(line.split(":", 1) for line in described.splitlines() if ":" in line)
    flags = {key.strip(): value.strip() for key, value in flags.items()}
    return (
        flags.get("vendor_id") == "AuthenticAMD"
        and flags.get("cpu family") == "25"
        and "avx512f" in flags.get("flags", "").split()
    )


def _at_least(release: str, wanted: tuple[int, int]) -> bool:
    parts = release.split(".")
    return len(parts) > 1 and all(p.isdecimal() for p in parts[:2]) and (int(parts[0]), int(parts[1])) >= wanted


def before_numpy() -> None:
    """Avoid slow sorting in this process, if NumPy is not imported yet."""
    if "numpy" in sys.modules or VARIABLE in os.environ:
        return
    try:
        with Path("/proc/cpuinfo").open() as lines:
            described = lines.read(1 << 13).split("\n\n", 1)[0]  # the first core
    except OSError:
        return
    if is_zen_4(described):
        from importlib.metadata import version

        spare_slow_sorting(os.environ, described, version("numpy"))
