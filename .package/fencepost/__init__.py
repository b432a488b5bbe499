"""Fencepost has formal models of Kafka's exactly-once protocols, a reference implementation of them written apart, and
the engines that judge both. `fencepost.proofs.testing.agree` and the command line are where users begin."""

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

try:
    __version__: str = _version("fencepost")
except _NotInstalled:  # files that were copied, as to the workers of a Spark cluster
    __version__ = "unknown"
