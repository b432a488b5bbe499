package org.apache.kafka.connect.runtime.distributed;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.when;

import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.connect.util.FutureCallback;

/** A start of set 1 goes on when set 2 is there, fenced for and counted, and so does a round for set 1 that has fenced
 *  and not written its count yet, whose leader has not been told of set 2. */
public class LateStart {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        start(seen);
        round(seen);
    }

    private static void start(BiConsumer<String, Object> seen) throws Exception {
        Herder at = new Herder(Herder.ME);
        at.commit(1);
        at.assign(Herder.ME, List.of(Herder.task(0)));
        AtomicReference<Object> check = new AtomicReference<>();
        when(at.worker.startExactlyOnceSourceTask(eq(Herder.task(0)), any(), any(), any(), any(), any(), any(), any()))
            .thenAnswer(asked -> {
                check.set(asked.getArgument(7));
                return true;
            });
        Method start = DistributedHerder.class.getDeclaredMethod("startTask", ConnectorTaskId.class);
        start.setAccessible(true);
        start.invoke(at.herder, Herder.task(0));
        at.commit(1);
        at.count = 1;
        at.pending = false;
        seen.accept("second look", RemovedTask.passes(at, check.get()));
    }

    private static void round(BiConsumer<String, Object> seen) throws Exception {
        Herder at = new Herder(Herder.ME);
        at.commit(1);
        at.count = 2;
        KafkaFutureImpl<Void> fenced = new KafkaFutureImpl<>();
        when(at.worker.fenceZombies(eq(Herder.CONNECTOR), anyInt(), any())).thenReturn(fenced);
        FutureCallback<Void> asks = new FutureCallback<>();
        at.herder.fenceZombieSourceTasks(Herder.CONNECTOR, asks);
        at.tick(); // the round begins
        at.commit(2);
        Thread admin = new Thread(() -> fenced.complete(null), "admin-client");
        admin.setDaemon(true);
        admin.start();
        while (!asks.isDone()) {
            at.tick(); // one more look, when the admin client's thread asks for it
            Thread.sleep(1);
        }
        try {
            asks.get(0, TimeUnit.SECONDS);
            seen.accept("asked the round", "may start");
        } catch (ExecutionException refused) {
            seen.accept("asked the round", refused.getCause().getMessage());
        }
        seen.accept("counts of the round", at.countsWritten);
    }
}
