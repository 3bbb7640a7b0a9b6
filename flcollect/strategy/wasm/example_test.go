package wasm_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/strategy/wasm"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// A strategy that was written in C aggregates a round.
func ExampleCompile() {
	ctx := context.Background()
	binary, err := os.ReadFile("testdata/c/momentum.wasm")
	if err != nil {
		log.Fatal(err)
	}
	module, err := wasm.Compile(ctx, binary, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer module.Close()
	momentum, err := module.Strategy(ctx, "momentum", strategy.Conf{"momentum": 0.5})
	if err != nil {
		log.Fatal(err)
	}

	model := strategy.Model{tensor.FromFloat64s([]float64{0})}
	for number := range 3 {
		round, err := momentum.Begin(strategy.Round{Number: number + 1, Model: model})
		if err != nil {
			log.Fatal(err)
		}
		for _, client := range []string{"north", "south"} {
			update := strategy.Update{Client: client, Examples: 100, Model: strategy.Model{tensor.FromFloat64s([]float64{8})}}
			if err := round.Add(ctx, update); err != nil {
				log.Fatal(err)
			}
		}
		if model, err = round.Finish(ctx); err != nil {
			log.Fatal(err)
		}
		if err := round.Close(); err != nil {
			log.Fatal(err)
		}
		fmt.Println(model[0].Float64s())
	}
	// Output:
	// [8]
	// [12]
	// [10]
}
