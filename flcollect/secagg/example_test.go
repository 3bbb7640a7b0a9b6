package secagg_test

import (
	"context"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/secagg"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// Three clients train, of which the last has half of the examples.
func ExampleNew() {
	clients := map[uint64]*secagg.Client{}
	for id, examples := range map[uint64]int64{1: 100, 2: 100, 3: 200} {
		clients[id] = secagg.NewClient(id, func(context.Context) ([]tensor.Tensor, int64, error) {
			return []tensor.Tensor{tensor.FromFloat32s([]float32{float32(id), -1})}, examples, nil
		})
	}
	round, err := secagg.New(secagg.Config{
		Clients: []uint64{1, 2, 3},
		Shapes:  [][]int{{2}},
		Exchange: func(ctx context.Context, _ secagg.Stage, requests map[uint64]secagg.Values,
			reply func(uint64, secagg.Values, error)) error {
			for id, request := range requests {
				answer, err := clients[id].Answer(ctx, request)
				reply(id, answer, err)
			}
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := round.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f over %.0f examples of clients %v\n", result.Mean[0].Float64s(), result.Weight, result.Clients)
	// Output: [2.250 -1.000] over 400 examples of clients [1 2 3]
}

// A client answers the requests of the stages in their order.
func ExampleNewClient() {
	client := secagg.NewClient(7, func(context.Context) ([]tensor.Tensor, int64, error) {
		return []tensor.Tensor{tensor.FromFloat32s([]float32{0.5})}, 10, nil
	})
	answer, err := client.Answer(context.Background(), secagg.Values{
		"stage": string(secagg.StageSetup), "sample_num": int64(3), "share_num": int64(3), "threshold": int64(2),
		"clipping_range": 8.0, "target_range": int64(1 << 22), "mod_range": int64(1 << 32), "max_weight": 1000.0,
	})
	fmt.Println(len(answer), "public keys,", err)
	// Output: 2 public keys, <nil>
}

// Each client divides its secrets among half of the clients of a round.
func ExampleSettings() {
	settings := secagg.Settings{NumShares: 0.5, ReconstructionThreshold: 0.6, MaxWeight: 500}
	config := settings.Config([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, [][]int{{2}}, nil)
	fmt.Println(config.Shares, "shares, of which", config.Threshold, "are needed")
	// Output: 5 shares, of which 3 are needed
}
