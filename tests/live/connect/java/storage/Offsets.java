package org.apache.kafka.connect.storage;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.util.Callback;
import org.apache.kafka.connect.util.KafkaBasedLog;
import org.apache.kafka.connect.util.LoggingContext;
import org.apache.kafka.connect.util.TopicAdmin;

/** Kafka's own stores of source offsets, over topics in memory. */
class Offsets {
    static final String CONNECTOR = "c";
    static final Map<String, String> FIRST = Map.of("file", "1");
    static final Map<String, String> SECOND = Map.of("file", "2");

    /** A topic whose readers are at its end at any time. */
    static class Topic extends KafkaBasedLog<byte[], byte[]> {
        final List<String> values = new ArrayList<>();
        private final Producer<byte[], byte[]> producer;

        /** `producer`: who writes to it; null: whatever is sent is there, and acknowledged, at once. */
        Topic(Producer<byte[], byte[]> producer) {
            super("t", Map.of(), Map.of(), (Supplier<TopicAdmin>) () -> null, (error, record) -> { }, Time.SYSTEM,
                admin -> { });
            this.producer = producer;
        }

        @Override
        public void readToEnd(Callback<Void> done) {
            done.onCompletion(null, null);
        }

        @Override
        public void send(byte[] key, byte[] value, org.apache.kafka.clients.producer.Callback told) {
            if (producer != null) {
                producer.send(new ProducerRecord<>("t", key, value), told);
                return;
            }
            values.add(value == null ? null : new String(value, StandardCharsets.UTF_8));
            told.onCompletion(null, null);
        }

        @Override
        public void stop() {
        }
    }

    static JsonConverter converter(boolean key) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false"), key);
        return converter;
    }

    static KafkaOffsetBackingStore store(Topic topic) {
        KafkaOffsetBackingStore store =
            new KafkaOffsetBackingStore((Supplier<TopicAdmin>) () -> null, () -> "w-", converter(true));
        store.offsetLog = topic;
        return store;
    }

    /** A record that a reader of the topic comes upon. */
    static void read(KafkaOffsetBackingStore store, Map<String, String> partition, int at) {
        byte[] key = converter(true).fromConnectData("t", null, List.of(CONNECTOR, partition));
        byte[] value = converter(false).fromConnectData("t", null, Map.of("at", at));
        store.consumedCallback.onCompletion(null, new ConsumerRecord<>("t", 0, 0L, key, value));
    }

    /** What SourceTaskContext.offsetStorageReader() answers a task. */
    static Object offset(OffsetBackingStore store, Map<String, String> partition) {
        return new OffsetStorageReaderImpl(store, CONNECTOR, converter(true), converter(false)).offset(partition);
    }

    static ConnectorOffsetBackingStore both(KafkaOffsetBackingStore worker, KafkaOffsetBackingStore own) {
        return new ConnectorOffsetBackingStore(
            Time.SYSTEM, () -> LoggingContext.forConnector(CONNECTOR), "own", worker, own, null);
    }
}
