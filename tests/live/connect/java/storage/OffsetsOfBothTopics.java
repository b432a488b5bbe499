package org.apache.kafka.connect.storage;

import java.util.function.BiConsumer;
import org.apache.kafka.connect.util.LoggingContext;

/** A connector is given an offsets topic of its own, which has an offset of one file; the worker's topic has one of
 *  another. What its task finds. */
public class OffsetsOfBothTopics {
    public static void look(BiConsumer<String, Object> seen) {
        KafkaOffsetBackingStore worker = Offsets.store(new Offsets.Topic(null));
        KafkaOffsetBackingStore own = Offsets.store(new Offsets.Topic(null));
        Offsets.read(worker, Offsets.FIRST, 17);
        Offsets.read(own, Offsets.SECOND, 18);
        ConnectorOffsetBackingStore both = Offsets.both(worker, own);
        seen.accept("in the worker's", Offsets.offset(both, Offsets.FIRST));
        seen.accept("in its own", Offsets.offset(both, Offsets.SECOND));
        ConnectorOffsetBackingStore before = ConnectorOffsetBackingStore.withOnlyWorkerStore(
            () -> LoggingContext.forConnector(Offsets.CONNECTOR), worker, "offsets");
        seen.accept("before it had its own", Offsets.offset(before, Offsets.FIRST));
    }
}
