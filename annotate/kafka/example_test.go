package kafka_test

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
)

func ExampleNew() {
	// A cluster to talk to, inside the process.
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "weather"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer cluster.Close()
	host, port, _ := net.SplitHostPort(cluster.ListenAddrs()[0])
	number, _ := strconv.Atoi(port)
	topic := annotate.Topic{
		Name: "weather", Broker: kafka.Type,
		Settings: kafka.Settings{Host: host, Port: number, GroupID: "readers"},
	}

	ctx := context.Background()
	broker := kafka.New(nil)
	sub, err := broker.Subscribe(ctx, topic, annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pub, err := broker.Connect(ctx, topic, annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = pub.Publish(ctx, annotate.Message{Key: []byte("station 7"), Payload: []byte("21.5")}, func(err error) {
		fmt.Println("confirmed:", err)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("closed:", pub.Close(ctx))
	delivery, err := sub.Receive(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s, %s: %s\n", delivery.Topic, delivery.Key, delivery.Payload)
	delivery.Ack()
	fmt.Println("closed:", sub.Forget(ctx))
	// Output:
	// confirmed: <nil>
	// closed: <nil>
	// weather, station 7: 21.5
	// closed: <nil>
}
