import com.hivemq.client.mqtt.MqttClient;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.message.publish.Mqtt5Publish;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** MqttCarml ADDRESS IN OUT MAPPING THREADS CLIENT: maps a topic to a topic, QoS 1 and in order, until standard input ends. */
public final class MqttCarml {
  private record Job(Mqtt5Publish input, Future<byte[]> output) {}

  public static void main(String[] args) throws Exception {
    final int window = 256;
    Mqtt5AsyncClient in = client(args[0], args[5] + "-in");
    Mqtt5AsyncClient out = client(args[0], args[5] + "-out");
    ThreadLocal<Mapping> mapping = ThreadLocal.withInitial(() -> new Mapping(args[3]));
    ExecutorService mappers = Executors.newFixedThreadPool(Integer.parseInt(args[4]));
    BlockingQueue<Job> jobs = new ArrayBlockingQueue<>(window); // in order of arrival
    out.toBlocking().connect();
    in.toBlocking().connectWith().cleanStart(false).sessionExpiryInterval(3600).send();
    Thread publisher = new Thread(() -> {
      try {
        while (true) {
          Job job = jobs.take();
          out.publishWith().topic(args[2]).qos(MqttQos.AT_LEAST_ONCE).payload(job.output().get()).send()
              .whenComplete((result, failure) -> {
                if (failure != null) {
                  failure.printStackTrace();
                  System.exit(1);
                }
                job.input().acknowledge();
              });
        }
      } catch (InterruptedException e) {
        // the end
      } catch (Exception e) {
        e.printStackTrace();
        System.exit(1);
      }
    });
    publisher.start();
    in.subscribeWith().topicFilter(args[1]).qos(MqttQos.AT_LEAST_ONCE)
        .callback(p -> {
          try {
            jobs.put(new Job(p, mappers.submit(() -> mapping.get().map(p.getPayloadAsBytes()))));
          } catch (InterruptedException e) {
            throw new IllegalStateException(e);
          }
        })
        .executor(Executors.newSingleThreadExecutor()) // it may have to wait, and answers must not
        .manualAcknowledgement(true).send().join();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    in.toBlocking().disconnect();
    publisher.interrupt();
    out.toBlocking().disconnect();
    System.exit(0); // threads of reactor may be waiting
  }

  private static Mqtt5AsyncClient client(String address, String id) {
    int colon = address.lastIndexOf(':');
    return MqttClient.builder().useMqttVersion5().identifier(id)
        .serverHost(address.substring(0, colon)).serverPort(Integer.parseInt(address.substring(colon + 1))).buildAsync();
  }
}
