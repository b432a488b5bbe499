"""The pieces that a broken implementation replaces; the defaults are the correct ones."""

from dataclasses import dataclass

from fencepost.reference_impl.task_counts.brokers import Brokers
from fencepost.reference_impl.task_counts.config import Config
from fencepost.reference_impl.task_counts.herder.connector import Connector
from fencepost.reference_impl.task_counts.herder.endpoint import FenceEndpoint
from fencepost.reference_impl.task_counts.herder.herder import Herder
from fencepost.reference_impl.task_counts.herder.rounds import Rounds
from fencepost.reference_impl.task_counts.tasks.source_task import SourceTask
from fencepost.reference_impl.task_counts.topic.cluster_state import ClusterConfigState
from fencepost.reference_impl.task_counts.topic.config_topic import ConfigTopic
from fencepost.reference_impl.task_counts.topic.privilege import WritePrivilege
from fencepost.reference_impl.task_counts.topic.writes import Writes


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
    brokers: type[Brokers] = Brokers  # the Kafka below
