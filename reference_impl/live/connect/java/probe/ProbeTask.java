package probe;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;
import org.apache.kafka.connect.source.TransactionContext;

/**
 * Has the source partitions p below `partitions` with p mod `tasks` = its number. The n-th record of p, from 1 on, has
 * source partition {"p": "p"}, source offset {"n": n}, key "p:n", and a JSON object as value.
 */
public final class ProbeTask extends SourceTask {
    private final Map<Integer, Long> last = new HashMap<>();
    private Map<String, String> props;
    private Wire wire;

    /** Asks `start` before it reads offsets, and `started` with what it found: p:n of each partition, n=0 for none. */
    @Override
    public void start(Map<String, String> config) {
        props = config;
        int task = Integer.parseInt(config.get(ProbeConnector.TASK));
        int tasks = Integer.parseInt(config.get(ProbeConnector.TASKS));
        wire = new Wire(config.get(ProbeConnector.CONTROL), config.get("name"), task);
        wire.ask("start", ProbeConnector.SET, config.get(ProbeConnector.SET), ProbeConnector.TASKS, tasks);
        List<String> found = new ArrayList<>();
        for (int p = task; p < Integer.parseInt(config.get(ProbeConnector.PARTITIONS)); p += tasks) {
            Map<String, Object> offset = context.offsetStorageReader().offset(partition(p));
            last.put(p, offset == null ? 0 : ((Number) offset.get("n")).longValue());
            found.add(p + ":" + last.get(p));
        }
        wire.ask("started", "found", String.join(",", found));
    }

    /**
     * Answers are: `from`=p:n,… (n records of p were polled), `records`=p:k,… (the next k of p), `topic`, `boundary`
     * (commit, abort: what was polled before; commit-last, abort-last: with the last record), `pause` in milliseconds.
     */
    @Override
    public List<SourceRecord> poll() throws InterruptedException {
        Map<String, String> answer = wire.ask("poll");
        for (String[] pair : pairs(answer.get("from")))
            last.put(Integer.valueOf(pair[0]), Long.valueOf(pair[1]));
        List<SourceRecord> records = new ArrayList<>();
        for (String[] pair : pairs(answer.get("records")))
            for (int k = Integer.parseInt(pair[1]); k > 0; k--)
                records.add(next(Integer.parseInt(pair[0]), answer.getOrDefault("topic", props.get("topic"))));
        TransactionContext transaction = context.transactionContext();
        switch (answer.getOrDefault("boundary", "")) {
            case "commit": transaction.commitTransaction(); break;
            case "abort": transaction.abortTransaction(); break;
            case "commit-last": transaction.commitTransaction(records.get(records.size() - 1)); break;
            case "abort-last": transaction.abortTransaction(records.get(records.size() - 1)); break;
            default: break;
        }
        Thread.sleep(Long.parseLong(answer.getOrDefault("pause", "0")));
        return records.isEmpty() ? null : records;
    }

    @Override
    public void commitRecord(SourceRecord record, RecordMetadata metadata) {
        wire.ask("commitRecord", "record", record.key(), "at", metadata == null ? "" : metadata.offset());
    }

    @Override
    public void commit() {
        wire.ask("commit");
    }

    @Override
    public void stop() {
        if (wire == null)
            return;
        wire.ask("stop");
        wire.close();
    }

    @Override
    public String version() {
        return "1";
    }

    private SourceRecord next(int p, String topic) {
        long n = last.merge(p, 1L, Long::sum);
        String value = "{\"p\":" + p + ",\"n\":" + n + ",\"connector\":\"" + props.get("name") + "\",\"task\":"
            + props.get(ProbeConnector.TASK) + ",\"set\":" + props.get(ProbeConnector.SET) + ",\"instance\":\""
            + wire.instance + "\"}";
        return new SourceRecord(partition(p), Map.of("n", n), topic, 0, Schema.STRING_SCHEMA, p + ":" + n,
            Schema.STRING_SCHEMA, value);
    }

    private static Map<String, String> partition(int p) {
        return Map.of("p", Integer.toString(p));
    }

    private static List<String[]> pairs(String list) {
        List<String[]> pairs = new ArrayList<>();
        if (list != null && !list.isEmpty())
            for (String pair : list.split(","))
                pairs.add(pair.split(":"));
        return pairs;
    }
}
