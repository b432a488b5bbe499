package org.apache.kafka.connect.runtime.distributed;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.Mockito.when;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** Worker w1 has the second of two tasks when it is away for longer than its session. The connector gets one task,
 *  counted and running on w2. Then w1 is back, and says that it has the second task: what the assignor gives it, now
 *  and in the next rebalance, and whether a start of that task passes every check. */
public class RemovedTask {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        assignor(seen);
        start(seen);
    }

    private static void assignor(BiConsumer<String, Object> seen) throws Exception {
        Herder two = new Herder(Herder.ME);
        two.commit(2);
        Herder one = new Herder(Herder.ME);
        one.commit(1);
        Constructor<?> constructor = IncrementalCooperativeAssignor.class.getConstructors()[0];
        // LogContext, which is in another package since 4.4
        Object context = constructor.getParameterTypes()[0].getConstructor().newInstance();
        IncrementalCooperativeAssignor assignor =
            (IncrementalCooperativeAssignor) constructor.newInstance(context, Time.SYSTEM, 0);
        ConnectorsAndTasks nothing = has(List.of(), List.of());
        ConnectorsAndTasks first = has(List.of(Herder.CONNECTOR), List.of(Herder.task(0)));
        ConnectorsAndTasks second = has(List.of(), List.of(Herder.task(1)));
        assignor.performTaskAssignment(two.state(), 0, 1, members(nothing, nothing));
        assignor.performTaskAssignment(two.state(), 1, 2, members(second, first));
        Map<String, ConnectorsAndTasks> alone = new TreeMap<>(Map.of("w2", first));
        seen.accept("away", assignor.performTaskAssignment(one.state(), 2, 3, alone).allAssignedTasks());
        var back = assignor.performTaskAssignment(one.state(), 3, 4, members(second, first));
        seen.accept("back", new TreeMap<>(back.allAssignedTasks()));
        seen.accept("revoked", back.newlyRevokedTasks("w1"));
        var next = assignor.performTaskAssignment(one.state(), 4, 5, members(second, first));
        seen.accept("next", new TreeMap<>(next.allAssignedTasks()));
    }

    private static void start(BiConsumer<String, Object> seen) throws Exception {
        Herder at = new Herder("w2");
        at.commit(2);
        at.commit(1);
        at.count = 1;
        at.pending = false;
        Herder leader = new Herder(Herder.ME);
        leader.commit(2);
        leader.commit(1);
        leader.count = 1;
        leader.pending = false;
        leader.herder.configState = leader.state();
        ConnectorTaskId removed = Herder.task(1);
        at.assign("w2", List.of(removed)); // as the assignor has it
        List<Object> checks = new ArrayList<>();
        AtomicReference<Object> configuration = new AtomicReference<>();
        when(at.worker.startExactlyOnceSourceTask(eq(removed), any(), any(), any(), any(), any(), any(), any()))
            .thenAnswer(asked -> {
                configuration.set(asked.getArgument(3));
                checks.add(asked.getArgument(6));
                checks.add(asked.getArgument(7));
                return true;
            });
        org.mockito.Mockito.doAnswer(asked -> { // the leader's answer to PUT /connectors/c/fence
            var asks = new org.apache.kafka.connect.util.FutureCallback<Void>();
            leader.herder.fenceZombieSourceTasks(Herder.CONNECTOR, asks);
            leader.tick();
            asks.get(0, java.util.concurrent.TimeUnit.SECONDS);
            return null;
        }).when(at.rest).httpRequest(any(), eq("PUT"), any(), any(), any(), any());
        Method start = DistributedHerder.class.getDeclaredMethod("startTask", ConnectorTaskId.class);
        start.setAccessible(true);
        start.invoke(at.herder, removed);
        seen.accept("configuration", configuration.get());
        seen.accept("fenced before", passes(at, checks.get(0)));
        seen.accept("checked after", passes(at, checks.get(1)));
        seen.accept("counts written", leader.countsWritten);
    }

    /** Whether a check that Kafka gives to its task's thread lets it go on. */
    private static Object passes(Herder at, Object check) throws Exception {
        AtomicReference<Object> ended = new AtomicReference<>();
        Method run = check.getClass().getInterfaces()[0].getMethods()[0]; // PreProducerCheck or PostProducerCheck
        run.setAccessible(true);
        Thread task = new Thread(() -> {
            try {
                run.invoke(check);
                ended.set("passed");
            } catch (Throwable error) {
                ended.set(error.getCause());
            }
        });
        task.setDaemon(true);
        task.start();
        while (ended.get() == null) {
            at.tick();
            Thread.sleep(1);
        }
        return ended.get();
    }

    private static ConnectorsAndTasks has(List<String> connectors, List<ConnectorTaskId> tasks) {
        return new ConnectorsAndTasks.Builder().with(connectors, tasks).build();
    }

    private static Map<String, ConnectorsAndTasks> members(ConnectorsAndTasks w1, ConnectorsAndTasks w2) {
        return new TreeMap<>(Map.of("w1", w1, "w2", w2));
    }
}
