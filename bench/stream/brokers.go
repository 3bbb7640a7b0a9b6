package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// broker is a running message broker.
type broker struct {
	*rig.Process
	address string // host:port
	version string
}

// mosquitto starts Eclipse Mosquitto, with limits that keep it from dropping
// messages, and from sending no more than 20 at a time.
func mosquitto(ctx context.Context, scratch string) (*broker, error) {
	path, err := exec.LookPath("mosquitto")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/mosquitto"); err != nil {
			return nil, err
		}
	}
	address, port, err := freeAddress()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(scratch, "mosquitto.conf")
	text := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous true\nuser root\npersistence false\n"+
		"max_inflight_messages 1000\nmax_queued_messages 0\nset_tcp_nodelay true\n", port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	p, err := rig.Start(ctx, scratch, nil, path, "-c", config)
	if err != nil {
		return nil, err
	}
	b := &broker{p, address, "mosquitto"}
	help, _ := exec.CommandContext(ctx, path, "-h").CombinedOutput() // its status is 3
	if first, _, ok := strings.Cut(string(help), "\n"); ok {
		b.version = first
	}
	return b, b.await()
}

// kafkaHeap is the memory of the broker's Java.
const kafkaHeap = "-Xmx1g"

// apacheKafka starts Apache Kafka out of a folder of jars, as broker and
// controller in one (KRaft).
func apacheKafka(ctx context.Context, scratch, jars string) (*broker, error) {
	address, port, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, controller, err := freeAddress()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(scratch, "kafka-")
	if err != nil {
		return nil, err
	}
	properties := filepath.Join(scratch, "server.properties")
	places := strings.NewReplacer("PORT", port, "CONTROL", controller, "DATA", filepath.Join(data, "log"))
	text := places.Replace(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:CONTROL
listeners=PLAINTEXT://127.0.0.1:PORT,CONTROLLER://127.0.0.1:CONTROL
advertised.listeners=PLAINTEXT://127.0.0.1:PORT
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=PLAINTEXT
log.dirs=DATA
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=4
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.segment.delete.delay.ms=1000
log.retention.hours=-1
`)
	if err := os.WriteFile(properties, []byte(text), 0o600); err != nil {
		return nil, err
	}
	classes := filepath.Join(jars, "*")
	java := func(args ...string) []string { return append([]string{kafkaHeap, "-cp", classes}, args...) }
	format := java("kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", properties)
	if output, err := exec.CommandContext(ctx, "java", format...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("format the storage of Kafka: %w: %s", err, output)
	}
	p, err := rig.Start(ctx, scratch, nil, "java", java("kafka.Kafka", properties)...)
	if err != nil {
		return nil, err
	}
	b := &broker{p, address, "Apache Kafka 3.9.1"}
	return b, b.awaitKafka()
}

// fakeKafka starts a cluster in memory, in a process of its own.
func fakeKafka(ctx context.Context, scratch, self string) (*broker, error) {
	p, err := rig.Start(ctx, scratch, nil, self, "kfake")
	if err != nil {
		return nil, err
	}
	address, err := p.Await(ctx, "ready")
	if err != nil {
		p.End()
		return nil, err
	}
	return &broker{p, address, "kfake"}, nil
}

// serveFake is the process of fakeKafka.
func serveFake() error {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Println("ready", cluster.ListenAddrs()[0])
	untilInputEnds()
	return nil
}

func freeAddress() (address, port string, err error) {
	if address, err = rig.FreeAddress(); err != nil {
		return "", "", err
	}
	_, port, err = net.SplitHostPort(address)
	return address, port, err
}

// await waits until the broker accepts connections.
func (b *broker) await() error {
	return b.until(func() error {
		conn, err := net.DialTimeout("tcp", b.address, time.Second)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// awaitKafka waits until the broker is one that clients can work with.
func (b *broker) awaitKafka() error {
	return b.until(func() error {
		config := sarama.NewConfig()
		config.Metadata.Retry.Max = 0
		client, err := sarama.NewClient([]string{b.address}, config)
		if err != nil {
			return err
		}
		defer client.Close()
		if _, err := client.Controller(); err != nil {
			return err
		}
		return nil
	})
}

func (b *broker) until(works func() error) error {
	deadline := time.Now().Add(rig.Patience)
	for {
		err := works()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			b.End()
			return b.Failure(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
