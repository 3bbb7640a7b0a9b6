package dp_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func ExampleNew() {
	ctx := context.Background()
	average, err := strategy.New("FedAvg", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	private, err := dp.New(average, strategy.Conf{
		"num_sampled_clients": 100, "noise_multiplier": 2, "init_clip_norm": 0.5, "epsilon_budget": 2.5,
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	config := map[string]any{}
	private.Configure(strategy.Fit, 1, config)
	fmt.Println("clients receive", config)

	model := strategy.Model{tensor.FromFloat32s([]float32{1, 2})}
	round, err := private.Begin(strategy.Round{Number: 1, Model: model})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer round.Close()
	trained := strategy.Model{tensor.FromFloat32s([]float32{1.3, 2.4})}
	fmt.Println(round.Add(ctx, strategy.Update{Client: "a", Examples: 10, Model: trained}))
	fmt.Println(round.Add(ctx, strategy.Update{Client: "b", Examples: 10, Model: trained,
		Metrics: map[string]any{"dpfedavg_norm_bit": true}}))
	if _, err := round.Finish(ctx); err != nil {
		fmt.Println(err)
		return
	}
	p := private.Privacy()
	fmt.Printf("epsilon %.3f at delta %v after %d round, one more: %v\n", p.Epsilon, p.Delta, p.Rounds, private.Affords(1))
	_, err = private.Begin(strategy.Round{Number: 2, Model: model})
	fmt.Println(errors.Is(err, dp.ErrBudget), err)

	_, err = dp.New(average, strategy.Conf{"num_sampled_clients": 1}, nil)
	var wrong *strategy.FieldError
	fmt.Println(errors.As(err, &wrong), wrong.Field)
	// Output:
	// clients receive map[dpfedavg_adaptive_clip_enabled:true dpfedavg_clip_norm:0.5]
	// add update of "a": strategy: update quarantined: no metric "dpfedavg_norm_bit": is it a client of differential privacy?
	// <nil>
	// epsilon 1.993 at delta 1e-05 after 1 round, one more: false
	// true begin round 2: dp: the epsilon budget is spent: one more would exceed 2.5
	// true noise_multiplier
}

func ExampleNewAccountant() {
	account, err := dp.NewAccountant(1e-5)
	if err != nil {
		fmt.Println(err)
		return
	}
	for round := 1; round <= 100; round++ {
		if err := account.Spend(0.1, 1.1, 1); err != nil {
			fmt.Println(err)
			return
		}
		if epsilon, order := account.Epsilon(); round%50 == 0 {
			fmt.Printf("round %d: epsilon %.4f, by order %v\n", round, epsilon, order)
		}
	}
	// Output:
	// round 50: epsilon 4.8991, by order 4.2
	// round 100: epsilon 6.6137, by order 3.6
}
