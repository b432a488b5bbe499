"""This package is the deterministic simulation that carries the reference implementations: clock, network, nodes,
faults and event log.

One code base is driven in two ways. With `Network`, a *driver* (a test, Hypothesis) decides every delivery itself. In a
*free-running* history, a seed decides, with `LossyNetwork` and `FaultMix`. In both, the same seed and the same calls
give the same rows in any process: the only sources of order are the kernel's queue and its random generator.

`config.py` is how a protocol declares its configuration keys, `environment.py` is what every cluster has, and
`free_run.py` runs a history by itself.
"""

from fencepost.reference_impl.simulation.kernel import Kernel
from fencepost.reference_impl.simulation.log import EventLog
from fencepost.reference_impl.simulation.network import FaultMix, LossyNetwork, Message, Network, Rates
from fencepost.reference_impl.simulation.node import Node

__all__ = ["EventLog", "FaultMix", "Kernel", "LossyNetwork", "Message", "Network", "Node", "Rates"]
