package probe;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.connect.errors.ConnectException;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * The connection of one connector or task to the control server. Each call is a line of key=value pairs, separated by
 * tabs, and returns when a line with the same number comes back; calls of several threads wait independently.
 */
final class Wire {
    private static final AtomicLong INSTANCES = new AtomicLong();

    /** Differs from that of every other instance on this machine: nanoTime counts from its start. */
    final String instance = Long.toString(System.nanoTime(), 36) + "." + INSTANCES.incrementAndGet();
    private final AtomicLong calls = new AtomicLong();
    private final Map<String, CompletableFuture<Map<String, String>>> open = new ConcurrentHashMap<>();
    private final Socket socket;
    private final OutputStream out;
    private final String who;

    /** @param task the number of the task, or -1 for the connector itself */
    Wire(String address, String connector, int task) {
        int colon = address.lastIndexOf(':');
        try {
            socket = new Socket(InetAddress.getByName(address.substring(0, colon)),
                Integer.parseInt(address.substring(colon + 1)));
            socket.setTcpNoDelay(true);
            out = socket.getOutputStream();
        } catch (IOException e) {
            throw new ConnectException("the control server at " + address + " cannot be reached", e);
        }
        who = "\tconnector=" + connector + "\ttask=" + task + "\tinstance=" + instance
            + "\tpid=" + ProcessHandle.current().pid();
        Thread reader = new Thread(this::read, "probe-" + connector + "-" + task);
        reader.setDaemon(true);
        reader.start();
    }

    /**
     * Reports a call and waits for the answer.
     *
     * @param more further pairs, each a key and a value
     */
    Map<String, String> ask(String call, Object... more) {
        String number = Long.toString(calls.incrementAndGet());
        CompletableFuture<Map<String, String>> answered = new CompletableFuture<>();
        open.put(number, answered);
        StringBuilder line = new StringBuilder("number=" + number + "\tcall=" + call + who
            + "\tms=" + System.currentTimeMillis() + "\tthread=" + Thread.currentThread().getName().replace('\t', ' '));
        for (int i = 0; i < more.length; i += 2)
            line.append('\t').append(more[i]).append('=').append(more[i + 1]);
        try {
            synchronized (out) {
                out.write(line.append('\n').toString().getBytes(UTF_8));
                out.flush();
            }
            Map<String, String> answer = answered.join();
            if (answer.containsKey("throw"))
                throw new ConnectException(answer.get("throw"));
            return answer;
        } catch (IOException | CompletionException e) {
            throw new ConnectException("the control server is gone", e);
        } finally {
            open.remove(number);
        }
    }

    void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // It is closed all the same.
        }
    }

    private void read() {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Map<String, String> answer = new HashMap<>();
                for (String part : line.split("\t")) {
                    int equals = part.indexOf('=');
                    answer.put(part.substring(0, equals), part.substring(equals + 1));
                }
                CompletableFuture<Map<String, String>> call = open.get(answer.get("number"));
                if (call != null)
                    call.complete(answer);
            }
        } catch (IOException e) {
            // What is open is ended below.
        }
        for (CompletableFuture<Map<String, String>> call : open.values())
            call.completeExceptionally(new IOException("the connection was closed"));
    }
}
