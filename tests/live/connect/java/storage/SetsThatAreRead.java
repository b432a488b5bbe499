package org.apache.kafka.connect.storage;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.doThrow;
import static org.mockito.Mockito.mock;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** A worker reads a set of two tasks and then one of one task: what it has of the second task, and from when on. Once
 *  compaction has taken the configuration of that one task before it was read. And a former leader writes a count. */
public class SetsThatAreRead {
    private static final ConnectorTaskId SECOND = new ConnectorTaskId("c", 1);

    public static void look(BiConsumer<String, Object> seen) throws Exception {
        KafkaConfigBackingStore store = afterASetOfTwo(mock(ConfigBackingStore.UpdateListener.class));
        ConfigBackingStore.UpdateListener herder = mock(ConfigBackingStore.UpdateListener.class);
        doAnswer(told -> { // another thread, such as the herder's, looks when the herder is about to be told
            seen.accept("before the herder knows", CompletableFuture.supplyAsync(() -> of(store)).get(9, TimeUnit.SECONDS));
            return null;
        }).when(herder).onTaskConfigUpdate(any());
        store.setUpdateListener(herder);
        task(store, 0, "2");
        commit(store, 1);
        seen.accept("whole", of(store));
        KafkaConfigBackingStore compacted = afterASetOfTwo(mock(ConfigBackingStore.UpdateListener.class));
        commit(compacted, 1);
        seen.accept("compacted", of(compacted));
        formerLeader(seen);
    }

    private static void formerLeader(BiConsumer<String, Object> seen) throws Exception {
        KafkaConfigBackingStore store = ConfigTopicReaders.store(ConfigTopicReaders.config("enabled"));
        Producer<?, ?> producer = mock(Producer.class);
        doThrow(new ProducerFencedException("by its successor")).when(producer).commitTransaction();
        field("fencableProducer").set(store, producer);
        try {
            store.putTaskCountRecord("c", 1);
            seen.accept("former leader", "has written");
        } catch (RuntimeException refused) {
            seen.accept("former leader", refused.getClass().getSimpleName());
        }
    }

    private static KafkaConfigBackingStore afterASetOfTwo(ConfigBackingStore.UpdateListener herder) throws Exception {
        KafkaConfigBackingStore store = ConfigTopicReaders.store(ConfigTopicReaders.config("enabled"));
        store.setUpdateListener(herder);
        store.connectorConfigs.put("c", Map.of("connector.class", "x"));
        field("started").set(store, true);
        task(store, 0, "1");
        task(store, 1, "1");
        commit(store, 2);
        return store;
    }

    /** The count, the number of the set, and the configuration of the second task. */
    private static String of(KafkaConfigBackingStore store) {
        ClusterConfigState state = store.snapshot();
        return state.taskCount("c") + " task(s), set " + state.taskConfigGeneration("c") + ", "
            + state.rawTaskConfig(SECOND);
    }

    private static void task(KafkaConfigBackingStore store, int number, String set) throws Exception {
        read(store, "processTaskConfigRecord", ConnectorTaskId.class, new ConnectorTaskId("c", number),
            Map.of("properties", Map.of("set", set)));
    }

    private static void commit(KafkaConfigBackingStore store, int tasks) throws Exception {
        read(store, "processTasksCommitRecord", String.class, "c", Map.of("tasks", tasks));
    }

    private static <K> void read(KafkaConfigBackingStore store, String how, Class<K> of, K key, Object value)
            throws Exception {
        Method read = KafkaConfigBackingStore.class.getDeclaredMethod(how, of, SchemaAndValue.class);
        read.setAccessible(true);
        read.invoke(store, key, new SchemaAndValue(null, value));
    }

    private static Field field(String name) throws Exception {
        Field field = KafkaConfigBackingStore.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
