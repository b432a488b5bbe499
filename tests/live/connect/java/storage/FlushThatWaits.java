package org.apache.kafka.connect.storage;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Writes of offsets that are not acknowledged, and threads that wait for them as WorkerSourceTask.commitOffsets does
 *  where offset.flush.timeout.ms is over: with Math.max(what is left, 0). */
public class FlushThatWaits {
    private static final int FLUSHES = 10;
    private static final int LATER_MS = 3_000;

    public static void look(BiConsumer<String, Object> seen) throws Exception {
        MockProducer<byte[], byte[]> producer =
            new MockProducer<>(Cluster.empty(), false, null, new ByteArraySerializer(), new ByteArraySerializer());
        KafkaOffsetBackingStore store = Offsets.store(new Offsets.Topic(producer));
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < FLUSHES; i++) {
            Map<ByteBuffer, ByteBuffer> offset = Map.of(ByteBuffer.wrap(new byte[] {1}), ByteBuffer.wrap(new byte[] {2}));
            Future<Void> written = store.set(offset, (error, ignored) -> { });
            Thread thread = new Thread(() -> waitsFor(written));
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
        Thread.sleep(LATER_MS);
        seen.accept("waits without an end", threads.stream().anyMatch(t -> t.getState() == Thread.State.WAITING));
        while (producer.completeNext()) {
            continue;
        }
        for (Thread thread : threads) {
            thread.join(LATER_MS);
        }
        seen.accept("waits when all are acknowledged", threads.stream().anyMatch(Thread::isAlive));
    }

    private static void waitsFor(Future<Void> written) {
        try {
            written.get(0, TimeUnit.MILLISECONDS);
        } catch (TimeoutException expected) {
            return; // where a millisecond ends between its two looks at the clock
        } catch (Exception unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }
}
