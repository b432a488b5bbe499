package org.apache.kafka.connect.runtime;

import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;

import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.producer.Producer;
import org.mockito.Mockito;

/** In which order Kafka's source task takes its steps before it polls: its producer, when opened, shuts others out. */
public class OrderOfAStart {
    public static void look(BiConsumer<String, Object> seen) throws Exception {
        List<String> steps = new ArrayList<>();
        ExactlyOnceWorkerSourceTask task = mock(ExactlyOnceWorkerSourceTask.class, Mockito.CALLS_REAL_METHODS);
        Producer<?, ?> producer = mock(Producer.class);
        doAnswer(opened -> steps.add("opens its producer")).when(producer).initTransactions();
        set(ExactlyOnceWorkerSourceTask.class, task, "preProducerCheck", steps, "asks for a round");
        set(ExactlyOnceWorkerSourceTask.class, task, "postProducerCheck", steps, "looks again");
        Field opened = AbstractWorkerSourceTask.class.getDeclaredField("producer");
        opened.setAccessible(true);
        opened.set(task, producer);
        task.prepareToInitializeTask();
        seen.accept("steps", steps);
    }

    private static void set(Class<?> of, Object task, String check, List<String> steps, String says) throws Exception {
        Field field = of.getDeclaredField(check);
        field.setAccessible(true);
        field.set(task, mock(field.getType(), called -> {
            steps.add(says);
            return null;
        }));
    }
}
