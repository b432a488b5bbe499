package org.apache.kafka.connect.storage;

import java.util.Map;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A task with an offsets topic of its own flushes its offsets in a transaction, as ExactlyOnceWorkerSourceTask does,
 *  and the transaction is aborted. What the worker's topic has. */
public class CopiesBeforeTheCommit {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        MockProducer<byte[], byte[]> producer =
            new MockProducer<>(Cluster.empty(), false, null, new ByteArraySerializer(), new ByteArraySerializer());
        Offsets.Topic workers = new Offsets.Topic(null);
        KafkaOffsetBackingStore worker = Offsets.store(workers);
        KafkaOffsetBackingStore own = Offsets.store(new Offsets.Topic(producer));
        OffsetStorageWriter writer = new OffsetStorageWriter(
            Offsets.both(worker, own), Offsets.CONNECTOR, Offsets.converter(true), Offsets.converter(false));
        producer.initTransactions();
        producer.beginTransaction();
        writer.offset(Offsets.FIRST, Map.of("at", 17));
        writer.beginFlush();
        writer.doFlush((error, ignored) -> { });
        seen.accept("sent", workers.values.size());
        producer.completeNext();
        seen.accept("acknowledged", workers.values);
        seen.accept("committed by then", producer.transactionCommitted());
        producer.abortTransaction();
        seen.accept("aborted", workers.values);
        seen.accept("its own topic", producer.history().size());
    }
}
