"""The deterministic simulation that carries the reference implementations: clock, network, nodes, faults, event log.

One code base, two ways to drive it. A *driver* (a test, Hypothesis) decides every delivery itself: `Network`.
*Free-running*, a seed decides: `LossyNetwork` and `FaultMix`. In both, the same seed and the same calls give the
same rows in any process: the only sources of order are the kernel's queue and its random generator.

`config.py` is how a protocol declares its keys, `environment.py` what every cluster has, `free_run.py`
how a history runs by itself.
"""

from fencepost.reference_impl.simulation.kernel import Kernel
from fencepost.reference_impl.simulation.log import EventLog
from fencepost.reference_impl.simulation.network import FaultMix, LossyNetwork, Message, Network, Rates
from fencepost.reference_impl.simulation.node import Node

__all__ = ["EventLog", "FaultMix", "Kernel", "LossyNetwork", "Message", "Network", "Node", "Rates"]
