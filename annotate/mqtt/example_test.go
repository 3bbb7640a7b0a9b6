package mqtt_test

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/embedded"
)

func ExampleNew() {
	// A broker to talk to, inside the process.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := embedded.New(listener, nil)
	if err == nil {
		err = server.Serve()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	host, port, _ := net.SplitHostPort(listener.Addr().String())
	number, _ := strconv.Atoi(port)
	settings := func(client string) annotate.Topic {
		return annotate.Topic{
			Name: "weather/raw", Broker: mqtt.Type,
			Settings: mqtt.Settings{Protocol: "tcp", Host: host, Port: number, ClientID: client},
		}
	}

	ctx := context.Background()
	broker := mqtt.New(nil)
	sub, err := broker.Subscribe(ctx, settings("reader"), annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	pub, err := broker.Connect(ctx, settings("writer"), annotate.ConnectOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = pub.Publish(ctx, annotate.Message{Payload: []byte("21.5")}, func(err error) {
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
	fmt.Printf("%s: %s\n", delivery.Topic, delivery.Payload)
	delivery.Ack()
	fmt.Println("closed:", sub.Forget(ctx))
	// Output:
	// confirmed: <nil>
	// closed: <nil>
	// weather/raw: 21.5
	// closed: <nil>
}
