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
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.TaskConfig;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.util.ConnectorTaskId;
import org.apache.kafka.connect.util.FutureCallback;

/** Worker w1 has the second of two tasks when it is away for longer than its session. The connector gets one task,
 *  counted and running on w2. Then w1 is back, and says that it has the second task: what the assignor gives it, now
 *  and in the next rebalance, and whether a start of that task passes every check. Further, what the assignor gives
 *  where no worker was away, and whether a restart of that task gets as far as a start. */
public class RemovedTask {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        away(seen);
        here(seen);
        start(seen);
        restart(seen);
        unconfigured(seen);
    }

    private static void away(BiConsumer<String, Object> seen) throws Exception {
        ClusterConfigState one = setOf(1);
        IncrementalCooperativeAssignor assignor = afterASetOfTwo();
        Map<String, ConnectorsAndTasks> alone = new TreeMap<>(Map.of("w2", first()));
        seen.accept("away", assignor.performTaskAssignment(one, 2, 3, alone).allAssignedTasks());
        var back = assignor.performTaskAssignment(one, 3, 4, members(second(), first()));
        seen.accept("back", new TreeMap<>(back.allAssignedTasks()));
        seen.accept("revoked", back.newlyRevokedTasks("w1"));
        var next = assignor.performTaskAssignment(one, 4, 5, members(second(), first()));
        seen.accept("next", new TreeMap<>(next.allAssignedTasks()));
    }

    /** Both workers are there all the time: the leader is as it was, is new, or its last assignment, with which nothing
     *  changed, did not get through. */
    private static void here(BiConsumer<String, Object> seen) throws Exception {
        seen.accept("leader as it was", assigned(afterASetOfTwo(), 2, 3));
        seen.accept("leader new", assigned(assignor(), 2, 3));
        IncrementalCooperativeAssignor lost = afterASetOfTwo();
        lost.performTaskAssignment(setOf(2), 2, 3, members(second(), first()));
        seen.accept("assignment lost", assigned(lost, 2, 4));
        IncrementalCooperativeAssignor revoked = afterASetOfTwo();
        revoked.performTaskAssignment(setOf(1), 2, 3, members(second(), first()));
        seen.accept("revocation lost", assigned(revoked, 2, 4));
    }

    private static Object assigned(IncrementalCooperativeAssignor assignor, int last, int generation) {
        var given = assignor.performTaskAssignment(setOf(1), last, generation, members(second(), first()));
        return new TreeMap<>(given.allAssignedTasks());
    }

    private static IncrementalCooperativeAssignor afterASetOfTwo() throws Exception {
        IncrementalCooperativeAssignor assignor = assignor();
        assignor.performTaskAssignment(
            setOf(2), 0, 1, members(has(List.of(), List.of()), has(List.of(), List.of())));
        assignor.performTaskAssignment(setOf(2), 1, 2, members(second(), first()));
        return assignor;
    }

    private static IncrementalCooperativeAssignor assignor() throws Exception {
        Constructor<?> constructor = IncrementalCooperativeAssignor.class.getConstructors()[0];
        // LogContext, which is in another package since 4.4
        Object context = constructor.getParameterTypes()[0].getConstructor().newInstance();
        return (IncrementalCooperativeAssignor) constructor.newInstance(context, Time.SYSTEM, 0);
    }

    private static ClusterConfigState setOf(int tasks) {
        Herder at = new Herder(Herder.ME);
        at.commit(tasks);
        return at.state();
    }

    /** A user restarts the second task when its worker has looked at the topic and its herder has not been told of the
     *  set that it found there, and when it has. */
    private static void restart(BiConsumer<String, Object> seen) throws Exception {
        Herder at = new Herder(Herder.ME);
        at.commit(2);
        ConnectorTaskId removed = Herder.task(1);
        at.assign(Herder.ME, List.of(removed));
        at.commit(1);
        at.herder.configState = at.state();
        when(at.worker.startExactlyOnceSourceTask(eq(removed), any(), any(), any(), any(), any(), any(), any()))
            .thenReturn(true);
        seen.accept("restart, not told", restarted(at, removed));
        at.herder.new ConfigUpdateListener().onTaskConfigUpdate(List.of(Herder.task(0)));
        seen.accept("restart, told", restarted(at, removed));
    }

    private static Object restarted(Herder at, ConnectorTaskId task) throws Exception {
        FutureCallback<Void> restarted = new FutureCallback<>();
        at.herder.restartTask(task, restarted);
        at.tick();
        try {
            restarted.get(0, TimeUnit.SECONDS);
            return "started";
        } catch (ExecutionException refused) {
            return refused.getCause().getClass().getSimpleName();
        }
    }

    /** What Worker.startTask makes of a task without configuration, within the block whose failures it reports. */
    private static void unconfigured(BiConsumer<String, Object> seen) {
        try {
            new TaskConfig(null);
            seen.accept("without configuration", "starts");
        } catch (RuntimeException failed) {
            seen.accept("without configuration", failed.getClass().getSimpleName());
        }
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
            var asks = new FutureCallback<Void>();
            leader.herder.fenceZombieSourceTasks(Herder.CONNECTOR, asks);
            leader.tick();
            asks.get(0, TimeUnit.SECONDS);
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
    static Object passes(Herder at, Object check) throws Exception {
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

    /** Each is made anew, since the assignor changes what it is given. */
    private static ConnectorsAndTasks first() {
        return has(List.of(Herder.CONNECTOR), List.of(Herder.task(0)));
    }

    private static ConnectorsAndTasks second() {
        return has(List.of(), List.of(Herder.task(1)));
    }

    private static ConnectorsAndTasks has(List<String> connectors, List<ConnectorTaskId> tasks) {
        return new ConnectorsAndTasks.Builder().with(connectors, tasks).build();
    }

    private static Map<String, ConnectorsAndTasks> members(ConnectorsAndTasks w1, ConnectorsAndTasks w2) {
        return new TreeMap<>(Map.of("w1", w1, "w2", w2));
    }
}
