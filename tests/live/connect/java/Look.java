import java.util.Map;
import org.apache.kafka.connect.runtime.OrderOfAStart;
import org.apache.kafka.connect.runtime.distributed.ForwardingThread;
import org.apache.kafka.connect.runtime.distributed.LateStart;
import org.apache.kafka.connect.runtime.distributed.RemovedTask;
import org.apache.kafka.connect.runtime.distributed.RoundThatIsOver;
import org.apache.kafka.connect.storage.ConfigTopicReaders;
import org.apache.kafka.connect.storage.CopiesBeforeTheCommit;
import org.apache.kafka.connect.storage.FlushThatWaits;
import org.apache.kafka.connect.storage.OffsetsOfBothTopics;
import org.apache.kafka.connect.storage.SetsThatAreRead;

/** Runs each of the programs and prints what it saw: a line `program key=value` for every answer, `program failed=…`
 *  where it could not be run. One JVM, since starting it costs more than the programs do. */
public class Look {
    interface Program {
        void look(Seen seen) throws Exception;
    }

    /** What programs write their answers to. */
    public interface Seen {
        void is(String key, Object value);
    }

    public static void main(String[] arguments) {
        Map<String, Program> programs = Map.of(
            "OrderOfAStart", seen -> OrderOfAStart.look(seen::is),
            "RoundThatIsOver", seen -> RoundThatIsOver.look(seen::is),
            "LateStart", seen -> LateStart.look(seen::is),
            "SetsThatAreRead", seen -> SetsThatAreRead.look(seen::is),
            "RemovedTask", seen -> RemovedTask.look(seen::is),
            "ForwardingThread", seen -> ForwardingThread.look(seen::is),
            "ConfigTopicReaders", seen -> ConfigTopicReaders.look(seen::is),
            "OffsetsOfBothTopics", seen -> OffsetsOfBothTopics.look(seen::is),
            "FlushThatWaits", seen -> FlushThatWaits.look(seen::is),
            "CopiesBeforeTheCommit", seen -> CopiesBeforeTheCommit.look(seen::is));
        programs.forEach((name, program) -> {
            try {
                program.look((key, value) -> System.out.println(name + " " + key + "=" + value));
            } catch (Throwable error) {
                System.out.println(name + " failed=" + error);
                error.printStackTrace();
            }
        });
        System.exit(0); // herders leave threads behind
    }
}
