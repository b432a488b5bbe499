"""The cores of a test run: the processes that it starts have all of them, and each worker of the tests has one."""

import os

from fencepost.reference_impl.live.clusters import ending

_GIVEN = os.environ.setdefault(ending.CORES, ",".join(map(str, sorted(os.sched_getaffinity(0)))))
CORES = [int(core) for core in _GIVEN.split(",")]
"""Those of the whole run, which its workers inherit by the environment."""
