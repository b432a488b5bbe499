package probe;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.Type;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.source.ConnectorTransactionBoundaries;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;

/**
 * A source of which a control server decides every call. It asks for `tasks` tasks whatever tasks.max is, and writes
 * `set` into the configuration of each.
 */
public final class ProbeConnector extends SourceConnector {
    static final String CONTROL = "control", TASKS = "tasks", SET = "set", PARTITIONS = "partitions", TOPIC = "topic";
    static final String TASK = "task";

    private Map<String, String> props;
    private Wire wire;

    @Override
    public void start(Map<String, String> config) {
        props = config;
        wire = new Wire(config.get(CONTROL), config.get("name"), -1);
        wire.ask("start", SET, config.get(SET));
    }

    /** The answer may have other `tasks` and another `set` than the configuration. */
    @Override
    public List<Map<String, String>> taskConfigs(int maxTasks) {
        Map<String, String> answer = wire.ask("taskConfigs", SET, props.get(SET));
        String tasks = answer.getOrDefault(TASKS, props.get(TASKS));
        List<Map<String, String>> configs = new ArrayList<>();
        for (int task = 0; task < Integer.parseInt(tasks); task++) {
            Map<String, String> config = new HashMap<>(props);
            config.put(TASKS, tasks);
            config.put(SET, answer.getOrDefault(SET, props.get(SET)));
            config.put(TASK, Integer.toString(task));
            configs.add(config);
        }
        return configs;
    }

    @Override
    public void stop() {
        if (wire == null)
            return;
        wire.ask("stop");
        wire.close();
    }

    @Override
    public Class<? extends Task> taskClass() {
        return ProbeTask.class;
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define(CONTROL, Type.STRING, Importance.HIGH, "host:port of the control server")
            .define(TOPIC, Type.STRING, Importance.HIGH, "the topic of the records")
            .define(TASKS, Type.INT, Importance.HIGH, "how many tasks there are")
            .define(SET, Type.INT, Importance.HIGH, "the number of the set of tasks")
            .define(PARTITIONS, Type.INT, Importance.HIGH, "how many source partitions there are");
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> config) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    @Override
    public ConnectorTransactionBoundaries canDefineTransactionBoundaries(Map<String, String> config) {
        return ConnectorTransactionBoundaries.SUPPORTED;
    }
}
