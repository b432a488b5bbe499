package org.apache.kafka.connect.runtime.distributed;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.when;

import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.connect.util.FutureCallback;

/** A round for set 1 has written its count. The admin client's thread, which is to take it out of the rounds that are
 *  under way, does not get to that: this thread, the one that ticks, has the herder's monitor, as if the other were not
 *  scheduled. Set 2 is committed meanwhile, and a task of it asks for a round. */
public class RoundThatIsOver {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        Herder at = new Herder(Herder.ME);
        at.commit(1);
        at.count = 2;
        AtomicInteger rounds = new AtomicInteger();
        KafkaFutureImpl<Void> fenced = new KafkaFutureImpl<>();
        when(at.worker.fenceZombies(eq(Herder.CONNECTOR), anyInt(), any())).thenAnswer(asked -> {
            rounds.incrementAndGet();
            return fenced;
        });
        FutureCallback<Void> first = new FutureCallback<>();
        FutureCallback<Void> second = new FutureCallback<>();
        at.herder.fenceZombieSourceTasks(Herder.CONNECTOR, first);
        at.tick(); // the round begins
        Thread admin = new Thread(() -> fenced.complete(null), "admin-client");
        admin.setDaemon(true);
        synchronized (at.herder) {
            admin.start();
            while (at.countsWritten == 0) {
                at.tick(); // when the admin client's thread asks for it: one more look, and the count record
                Thread.sleep(1);
            }
            seen.accept("counted", at.count + " after set " + at.generation);
            at.commit(2);
            at.herder.new ConfigUpdateListener().onTaskConfigUpdate(List.of(Herder.task(0), Herder.task(1)));
            at.herder.fenceZombieSourceTasks(Herder.CONNECTOR, second);
            at.tick();
        }
        first.get(5, TimeUnit.SECONDS);
        second.get(5, TimeUnit.SECONDS); // else it throws
        seen.accept("granted", "set " + at.generation);
        seen.accept("rounds", rounds.get());
        seen.accept("counts", at.countsWritten);
        seen.accept("set 2 is counted", !at.pending);
        admin.join(5000);
        at.herder.fenceZombieSourceTasks(Herder.CONNECTOR, new FutureCallback<>());
        at.tick();
        seen.accept("rounds when it is out", rounds.get());
    }
}
