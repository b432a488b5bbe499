package org.apache.kafka.connect.runtime.distributed;

import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.BiConsumer;
import org.apache.kafka.connect.util.Callback;
import org.apache.kafka.connect.util.FutureCallback;

/** A worker that does not lead has sent the leader a request for a round of one connector, which is not answered yet.
 *  Then another connector has new task configurations. */
public class ForwardingThread {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        Herder at = new Herder("leader");
        at.commit(1);
        at.others.add("other");
        at.herder.configState = at.state();
        CountDownLatch answer = new CountDownLatch(1);
        CountDownLatch asked = new CountDownLatch(1);
        ConcurrentLinkedQueue<String> sent = new ConcurrentLinkedQueue<>();
        doAnswer(request -> {
            sent.add(request.getArgument(1) + " " + request.getArgument(0));
            if (request.getArgument(1).equals("PUT")) {
                asked.countDown();
                answer.await();
            }
            return null;
        }).when(at.rest).httpRequest(any(), any(), any(), any(), any(), any());
        FutureCallback<Void> round = new FutureCallback<>();
        at.herder.fenceZombieSourceTasks(Herder.task(0), round);
        at.tick();
        asked.await();
        FutureCallback<Void> configured = new FutureCallback<>();
        Method publish = DistributedHerder.class.getDeclaredMethod(
            "publishConnectorTaskConfigs", String.class, List.class, Callback.class);
        publish.setAccessible(true);
        publish.invoke(at.herder, "other", List.of(Map.of("a", "b")), configured);
        ThreadPoolExecutor forwards = (ThreadPoolExecutor) at.herder.forwardRequestExecutor;
        seen.accept("threads", forwards.getMaximumPoolSize());
        seen.accept("waiting", forwards.getQueue().size());
        seen.accept("sent", List.copyOf(sent));
        answer.countDown();
        round.get();
        configured.get();
        seen.accept("sent in the end", List.copyOf(sent));
    }
}
