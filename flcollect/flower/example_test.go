package flower_test

import (
	"context"
	"fmt"
	"net"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// A server has one client train and sends it away.
func ExampleNewServer() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server, err := flower.NewServer(flower.ServerConfig{Handle: func(ctx context.Context, s *flower.Session) error {
		fit, err := s.Fit(ctx, flower.FitIns{
			Parameters: flower.FromTensors(tensor.FromFloat32s([]float32{1, 2})),
			Config:     flower.Config{"epochs": 3},
		})
		if err != nil {
			return err
		}
		defer fit.Release()
		model, err := fit.Parameters.Decode()
		if err != nil {
			return err
		}
		fmt.Println(model[0].Float64s(), "from", fit.NumExamples, "examples, epochs:", fit.Metrics["epochs"])
		return s.Reconnect(ctx, 0)
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()

	client, err := flower.NewClient(flower.ClientConfig{Target: listener.Addr().String(), Trainer: trainer{examples: 40}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("client:", client.Run(ctx))
	cancel()
	fmt.Println("server:", <-served)
	// Output:
	// [2 3] from 40 examples, epochs: 3
	// client: <nil>
	// server: <nil>
}

func ExampleNewClient() {
	_, err := flower.NewClient(flower.ClientConfig{Trainer: trainer{}})
	fmt.Println(err)
	// Output: configure flower client: Target is required
}

func ExampleIdentify() {
	fmt.Println(flower.Identify(flower.Peer{Addr: "192.0.2.1:5678"}))
	// Output: ipv4:192.0.2.1:5678 <nil>
}

func ExampleFromBytes() {
	message, err := tensor.New(tensor.Uint8, []int{4}, []byte("se"), []byte("al"))
	if err != nil {
		fmt.Println(err)
	}
	p := flower.FromBytes("homomorphic", message)
	_, err = p.Decode()
	fmt.Println(err)
	model, err := p.Bytes()
	fmt.Println(model[0].DType(), model[0].Shape(), err)
	// Output:
	// decode parameters: type "homomorphic", expected "numpy.ndarray"
	// uint8 [4] <nil>
}
