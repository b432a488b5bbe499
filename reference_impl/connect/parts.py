"""The pieces that a broken implementation replaces; the defaults are the correct ones."""

from dataclasses import dataclass

from fencepost.reference_impl.connect.cluster_state import ClusterConfigState
from fencepost.reference_impl.connect.config import Config
from fencepost.reference_impl.connect.config_topic import ConfigTopic
from fencepost.reference_impl.connect.connector import Connector
from fencepost.reference_impl.connect.endpoint import FenceEndpoint
from fencepost.reference_impl.connect.herder import Herder
from fencepost.reference_impl.connect.privilege import WritePrivilege
from fencepost.reference_impl.connect.rounds import Rounds
from fencepost.reference_impl.connect.source_task import SourceTask
from fencepost.reference_impl.connect.writes import Writes


@dataclass(frozen=True, slots=True)
class Parts:
    """One implementation. Everything here is a class whose methods are the rules."""

    state: type[ClusterConfigState] = ClusterConfigState  # what records mean
    topic: type[ConfigTopic] = ConfigTopic  # reading, compaction
    privilege: type[WritePrivilege] = WritePrivilege  # who may write
    writes: type[Writes] = Writes  # what leaders write for users and Connectors
    endpoint: type[FenceEndpoint] = FenceEndpoint  # who may ask for a round
    rounds: type[Rounds] = Rounds  # what is fenced, checked and counted
    herder: type[Herder] = Herder  # the single thread: rebalances, starts and stops
    connector: type[Connector] = Connector  # publishes sets, and in M asks for rounds
    task: type[SourceTask] = SourceTask  # the start-up's steps, polling
    config: type[Config] = Config  # keys and their defaults
