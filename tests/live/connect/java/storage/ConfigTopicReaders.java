package org.apache.kafka.connect.storage;

import static org.mockito.Mockito.doReturn;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.spy;

import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.util.KafkaBasedLog;

/** With which isolation level a worker reads the config topic, and whether it leads with transactions. */
public class ConfigTopicReaders {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        for (String support : List.of("disabled", "preparing", "enabled")) {
            DistributedConfig config = config(support);
            KafkaConfigBackingStore store = store(config);
            KafkaBasedLog<String, byte[]> log = store.setupAndCreateKafkaBasedLog("configs", config);
            Field field = KafkaBasedLog.class.getDeclaredField("consumerConfigs");
            field.setAccessible(true);
            seen.accept(support + " reads", ((Map<?, ?>) field.get(log)).get("isolation.level"));
            seen.accept(support + " writes in transactions", config.transactionalLeaderEnabled());
        }
    }

    static DistributedConfig config(String support) {
        Map<String, String> properties = new HashMap<>(Map.of(
            "bootstrap.servers", "127.0.0.1:9", "group.id", "g", "config.storage.topic", "configs",
            "offset.storage.topic", "offsets", "status.storage.topic", "statuses",
            "key.converter", "org.apache.kafka.connect.storage.StringConverter",
            "value.converter", "org.apache.kafka.connect.storage.StringConverter",
            "exactly.once.source.support", support));
        DistributedConfig config = spy(new DistributedConfig(properties));
        doReturn("k").when(config).kafkaClusterId(); // which it would ask a cluster for
        return config;
    }

    static KafkaConfigBackingStore store(DistributedConfig config) {
        return new KafkaConfigBackingStore(mock(Converter.class), config, null, () -> null, "w-");
    }
}
