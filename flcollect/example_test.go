package flcollect_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	server, err := flcollect.NewServer(flcollect.Config{Documents: storage.NewMemoryDocuments(), Blobs: storage.NewMemoryBlobs()})
	if err != nil {
		log.Fatal(err)
	}
	clients, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // Flower clients connect to listener.Addr()
	if err != nil {
		log.Fatal(err)
	}
	go server.Run(ctx)
	go clients.Serve(ctx, listener)

	err = server.Start(ctx, "tumours", jobconfig.Config{Strategy: "FedAvg", Rounds: 3})
	status, errStatus := server.Status(ctx, "tumours")
	fmt.Println(status.State, "for clients:", status.Needed, errors.Join(err, errStatus))
	// Output: WAITING for clients: 2 <nil>
}

// A server trains a model of two numbers for three rounds with one client.
func ExampleNewServer() {
	server, err := flcollect.NewServer(flcollect.Config{
		Documents: storage.NewMemoryDocuments(),
		Blobs:     storage.NewMemoryBlobs(),
		Initial: func(context.Context, jobconfig.Config) (strategy.Model, error) {
			return strategy.Model{tensor.FromFloat32s([]float32{0, 10})}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	clients, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	// The server ends first, so that it can send its clients away.
	running, stop := context.WithCancel(context.Background())
	defer stop()
	serving, hangUp := context.WithCancel(context.Background())
	defer hangUp()
	ran, served := make(chan error, 1), make(chan error, 1)
	go func() { ran <- server.Run(running) }()
	go func() { served <- clients.Serve(serving, listener) }()

	ctx := context.Background()
	err = server.Start(ctx, "weather", jobconfig.Config{
		Strategy: "avg", Rounds: 3, StrategyConf: strategy.Conf{"min_available_clients": 1, "min_fit_clients": 1, "min_evaluate_clients": 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := flower.NewClient(flower.ClientConfig{Target: listener.Addr().String(), Trainer: trainer{step: 1, examples: 32}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("client:", client.Run(ctx)) // until it is sent away

	status, err := server.Status(ctx, "weather")
	fmt.Println(status.State, status.Round, err)
	result, err := server.Result(ctx, "weather")
	fmt.Println(result.Weights[0].Float64s(), *result.FinalLoss, err)
	stop()
	fmt.Println("server:", <-ran)
	hangUp()
	fmt.Println("clients:", <-served)
	// Output:
	// client: <nil>
	// FINISHED 3 <nil>
	// [3 13] 3 <nil>
	// server: <nil>
	// clients: <nil>
}

// sparing is FedAvg with a tenth of the clients in each round, whatever a job says.
func sparing(conf strategy.Conf) (strategy.Strategy, error) {
	conf["fraction_fit"] = 0.1
	return strategy.New("FedAvg", conf)
}

// A program registers a strategy of its own; a job selects it by its name.
func ExampleOptions_strategies() {
	options := flcollect.Config{
		Documents:  storage.NewMemoryDocuments(),
		Blobs:      storage.NewMemoryBlobs(),
		Strategies: map[string]func(strategy.Conf) (strategy.Strategy, error){"sparing": sparing},
	}
	server, err := flcollect.NewServer(options)
	if err != nil {
		fmt.Println(err)
		return
	}
	running, stop := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- server.Run(running) }()
	ctx := context.Background()
	fmt.Println(server.Start(ctx, "one", jobconfig.Config{Strategy: "sparing", Rounds: 1}))
	fmt.Println(server.Start(ctx, "two", jobconfig.Config{Strategy: "sparring", Rounds: 1}))
	stop()
	fmt.Println(<-ran)

	options.Strategies["avg"] = sparing
	_, err = flcollect.NewServer(options)
	fmt.Println(err)
	// Output:
	// <nil>
	// start job "two": strategy "sparring": flcollect: no strategy of that name
	// <nil>
	// configure training collector: Strategies: "avg" has the name of a built-in one
}
