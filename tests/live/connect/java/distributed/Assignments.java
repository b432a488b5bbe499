package org.apache.kafka.connect.runtime.distributed;

import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.connect.runtime.distributed.WorkerCoordinator.ConnectorsAndTasks;
import org.apache.kafka.connect.storage.ClusterConfigState;
import org.apache.kafka.connect.util.ConnectorTaskId;

/** What Kafka's assignor gives, rebalance after rebalance. `new DELAY` begins with another assignor; every other line,
 *  `NOW COMPLETED GENERATION CONFIGURED MEMBER=CLAIMS...`, is answered with `DELAY MEMBER=ASSIGNED/REVOKED...`. Items
 *  are `c` for a Connector and `c-0` for a task of it, with a comma after each. */
public class Assignments {
    private static long now;

    public static void main(String[] arguments) throws Exception {
        Time time = mock(Time.class);
        when(time.milliseconds()).thenAnswer(asked -> now);
        var constructor = IncrementalCooperativeAssignor.class.getConstructors()[0];
        // LogContext, which is in another package since 4.4
        Object context = constructor.getParameterTypes()[0].getConstructor().newInstance();
        IncrementalCooperativeAssignor assignor = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null;) {
            String[] words = line.split(" ");
            if (words[0].equals("new")) {
                assignor = (IncrementalCooperativeAssignor)
                    constructor.newInstance(context, time, Integer.parseInt(words[1]));
                continue;
            }
            now = Long.parseLong(words[0]);
            Map<String, ConnectorsAndTasks> members = new TreeMap<>();
            for (String member : List.of(words).subList(4, words.length)) {
                String[] claims = member.split("=", 2);
                members.put(claims[0], items(claims[1]));
            }
            var made = assignor.performTaskAssignment(state(items(words[3])), Integer.parseInt(words[1]),
                    Integer.parseInt(words[2]), members);
            StringBuilder answer = new StringBuilder().append(assignor.delay);
            for (String member : members.keySet()) {
                answer.append(' ').append(member).append('=')
                    .append(words(made.allAssignedConnectors().get(member), made.allAssignedTasks().get(member)))
                    .append('/')
                    .append(words(made.newlyRevokedConnectors(member), made.newlyRevokedTasks(member)));
            }
            System.out.println(answer);
        }
    }

    private static ClusterConfigState state(ConnectorsAndTasks configured) {
        ClusterConfigState state = mock(ClusterConfigState.class);
        Set<String> connectors = new HashSet<>(configured.connectors());
        when(state.connectors()).thenReturn(connectors);
        for (String connector : connectors) {
            List<ConnectorTaskId> tasks = configured.tasks().stream()
                .filter(task -> task.connector().equals(connector)).collect(Collectors.toList());
            when(state.tasks(connector)).thenReturn(tasks);
        }
        return state;
    }

    private static ConnectorsAndTasks items(String words) {
        List<String> connectors = new ArrayList<>();
        List<ConnectorTaskId> tasks = new ArrayList<>();
        for (String word : words.isEmpty() ? List.<String>of() : Arrays.asList(words.split(","))) {
            String[] parts = word.split("-");
            if (parts.length == 1) {
                connectors.add(word);
            } else {
                tasks.add(new ConnectorTaskId(parts[0], Integer.parseInt(parts[1])));
            }
        }
        return new ConnectorsAndTasks.Builder().with(connectors, tasks).build();
    }

    private static String words(Collection<String> connectors, Collection<ConnectorTaskId> tasks) {
        Set<String> items = new TreeSet<>(connectors == null ? List.of() : connectors);
        (tasks == null ? List.<ConnectorTaskId>of() : tasks).forEach(task -> items.add(task.toString()));
        return items.stream().map(item -> item + ",").collect(Collectors.joining());
    }
}
