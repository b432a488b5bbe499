package org.apache.kafka.connect.runtime.distributed;

import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.runtime.ConnectMetrics;
import org.apache.kafka.connect.runtime.TargetState;
import org.apache.kafka.connect.runtime.Worker;
import org.apache.kafka.connect.runtime.rest.RestClient;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorType;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.storage.ConfigBackingStore;
import org.apache.kafka.connect.storage.StatusBackingStore;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** Kafka's own DistributedHerder with one source connector, exactly-once support, and a config topic in memory. The
 *  test's thread is its tick thread: requests wait until `tick`. */
class Herder {
    static final String CONNECTOR = "c";
    static final String ME = "me";

    final Worker worker = mock(Worker.class);
    final RestClient rest = mock(RestClient.class);
    final ConfigBackingStore topic = mock(ConfigBackingStore.class);
    final DistributedHerder herder;
    /** The config topic: the newest set, the latest count, and whether the set stands after it. */
    int generation;
    int tasks;
    int count;
    boolean pending;
    int countsWritten;
    /** Connectors that have no tasks yet. */
    final Set<String> others = new HashSet<>();
    private final Map<ConnectorTaskId, Map<String, String>> configurations = new HashMap<>();

    Herder(String leader) {
        Map<String, String> properties = new HashMap<>(Map.of(
            "bootstrap.servers", "127.0.0.1:9", "group.id", "g", "config.storage.topic", "configs",
            "offset.storage.topic", "offsets", "status.storage.topic", "statuses",
            "key.converter", "org.apache.kafka.connect.storage.StringConverter",
            "value.converter", "org.apache.kafka.connect.storage.StringConverter",
            "exactly.once.source.support", "enabled"));
        DistributedConfig config = new DistributedConfig(properties);
        WorkerGroupMember member = mock(WorkerGroupMember.class);
        when(member.memberId()).thenReturn(ME);
        ConnectMetrics metrics = new ConnectMetrics("w", config, Time.SYSTEM, "k");
        when(worker.metrics()).thenReturn(metrics);
        when(topic.snapshot()).thenAnswer(asked -> state());
        doAnswer(asked -> {
            count = asked.getArgument(1);
            pending = false;
            countsWritten++;
            return null;
        }).when(topic).putTaskCountRecord(anyString(), anyInt());
        herder = new DistributedHerder(config, worker, "w", "k", mock(StatusBackingStore.class), topic, member,
                "http://" + ME, rest, metrics, Time.SYSTEM, new AllConnectorClientConfigOverridePolicy(), List.of(),
                null, new AutoCloseable[0]) {
            @Override
            public ConnectorType connectorType(Map<String, String> ignored) {
                return ConnectorType.SOURCE;
            }
        };
        herder.herderThread = Thread.currentThread();
        assign(leader, List.of());
    }

    /** What the last rebalance gave to this worker. */
    void assign(String leader, List<ConnectorTaskId> mine) {
        herder.assignment = new ExtendedAssignment((short) 1, (short) 0, leader, "http://" + leader, 1L, List.of(),
                mine, List.of(), List.of(), 0);
        herder.configState = state();
    }

    /** A new set is committed. Configurations of numbers beyond it stay, as they do in
     *  KafkaConfigBackingStore.processTasksCommitRecord, which puts those of the set over what there was. */
    void commit(int size) {
        generation++;
        tasks = size;
        pending = true;
        for (int i = 0; i < size; i++) {
            configurations.put(task(i), Map.of("set", String.valueOf(generation)));
        }
    }

    /** The state as the topic has it. */
    ClusterConfigState state() {
        Set<String> after = pending ? Set.of(CONNECTOR) : Set.of();
        Map<String, Map<String, String>> connectors = new HashMap<>();
        connectors.put(CONNECTOR, Map.of("connector.class", "x", "name", CONNECTOR));
        others.forEach(name -> connectors.put(name, Map.of("connector.class", "x", "name", name)));
        return new ClusterConfigState(generation, null, Map.of(CONNECTOR, tasks), connectors,
                Map.of(CONNECTOR, TargetState.STARTED), new HashMap<>(configurations),
                Map.of(CONNECTOR, count), Map.of(CONNECTOR, generation), Map.of(),
                new HashSet<>(after), new HashSet<>());
    }

    static ConnectorTaskId task(int number) {
        return new ConnectorTaskId(CONNECTOR, number);
    }

    /** What DistributedHerder.tick does with requests. */
    void tick() {
        DistributedHerder.DistributedHerderRequest next;
        while ((next = herder.requests.pollFirst()) != null) {
            try {
                next.action().call();
                next.callback().onCompletion(null, null);
            } catch (Throwable error) {
                next.callback().onCompletion(error, null);
            }
        }
    }
}
