package strategy_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func model(values ...float32) strategy.Model {
	return strategy.Model{tensor.FromFloat32s(values)}
}

func ExampleNew() {
	ctx := context.Background()
	average, err := strategy.New("FedAvg", strategy.Conf{"min_fit_clients": 3, "accept_failures": "false"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("of 10 clients:", average.Policy().Sample(strategy.Fit, 10))

	round, err := average.Begin(strategy.Round{Number: 1, Model: model(0, 0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer round.Close()
	fmt.Println(round.Add(ctx, strategy.Update{Client: "a", Examples: 30, Model: model(1, 2)}))
	fmt.Println(round.Add(ctx, strategy.Update{Client: "b", Examples: 10, Model: model(5, 6)}))
	fmt.Println(round.Add(ctx, strategy.Update{Client: "c", Examples: -1, Model: model(7, 8)}))
	result, err := round.Finish(ctx)
	fmt.Println(result[0].Float64s(), err)

	_, err = strategy.New("FedAvg", strategy.Conf{"beta": 0.2})
	var wrong *strategy.FieldError
	fmt.Println(errors.As(err, &wrong), wrong.Field)
	// Output:
	// of 10 clients: 10
	// <nil>
	// <nil>
	// add update of "c": strategy: update quarantined: num_examples is -1, less than 1
	// [2 3] <nil>
	// true beta
}

func ExampleNewSum() {
	sum := strategy.NewSum(model(0, 0))
	fmt.Println(sum.Add(model(1, 2), 3))
	fmt.Println(sum.Add(model(5, 6), 1))
	mean, err := sum.Mean(4)
	fmt.Println(mean[0].Float64s(), err)
	// Output:
	// <nil>
	// <nil>
	// [2 3] <nil>
}

func ExampleNewSpill() {
	ctx := context.Background()
	spill, err := strategy.NewSpill(strategy.Round{Model: model(0, 0), Dir: os.TempDir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer spill.Close()
	for client, trained := range map[string]strategy.Model{"a": model(1, 2), "b": model(5, 6)} {
		if err := spill.Add(ctx, strategy.Update{Client: client, Examples: 1, Model: trained}); err != nil {
			fmt.Println(err)
		}
	}
	count, err := spill.Seal()
	fmt.Println(count, err)
	err = spill.Tiles(ctx, []int{0, 1}, func(rows [][]float64, layer, from int) error {
		fmt.Println("layer", layer, "from", from, rows)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// layer 0 from 0 [[1 2] [5 6]]
	// <nil>
}

func ExampleNewBounded() {
	ctx := context.Background()
	average, err := strategy.New("FedAvg", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	bounded, err := strategy.NewBounded(average, strategy.Conf{"norm_bound": 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	round, err := bounded.Begin(strategy.Round{Number: 1, Model: model(0, 0)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer round.Close()
	for client, trained := range map[string]strategy.Model{"a": model(1, 2), "b": model(300, 400)} {
		if err := round.Add(ctx, strategy.Update{Client: client, Examples: 1, Model: trained}); err != nil {
			fmt.Println(err)
		}
	}
	result, err := round.Finish(ctx)
	fmt.Println(result[0].Float64s(), err)
	for _, v := range bounded.Verdicts() {
		fmt.Printf("%s %v %q\n", v.Client, v.Outcome, v.Reason)
	}
	// Output:
	// [2 3] <nil>
	// a kept ""
	// b clipped "its norm is 500, the bound 5"
}

func ExampleVerdicts() {
	var verdicts strategy.Verdicts
	verdicts.Note(strategy.Verdict{Client: "b", Outcome: strategy.Refused, Reason: "it smells"})
	verdicts.Note(strategy.Verdict{Client: "a", Outcome: strategy.Kept})
	for _, v := range verdicts.All() {
		fmt.Printf("%s %v %q\n", v.Client, v.Outcome, v.Reason)
	}
	// Output:
	// a kept ""
	// b refused "it smells"
}
