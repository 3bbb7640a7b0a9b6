import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;

/** KafkaCarml ADDRESS IN OUT MAPPING THREADS APPLICATION GUARANTEE: maps a topic to a topic until standard input ends. */
public final class KafkaCarml {
  public static void main(String[] args) throws Exception {
    Properties p = new Properties();
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
    p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, args[4]);
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, args[5]);
    p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, args[6]);
    p.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
    p.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
    p.put(StreamsConfig.STATE_DIR_CONFIG, System.getProperty("user.dir") + "/streams-" + args[5]);
    p.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");
    StreamsBuilder b = new StreamsBuilder();
    b.<byte[], byte[]>stream(args[1])
        .processValues(() -> new ContextualFixedKeyProcessor<byte[], byte[], byte[]>() {
          private final Mapping mapping = new Mapping(args[3]);

          @Override
          public void process(FixedKeyRecord<byte[], byte[]> r) {
            context().forward(r.withValue(mapping.map(r.value())));
          }
        })
        .to(args[2]);
    KafkaStreams streams = new KafkaStreams(b.build(), p);
    streams.start();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    streams.close();
    System.exit(0); // threads of reactor may be waiting
  }
}
