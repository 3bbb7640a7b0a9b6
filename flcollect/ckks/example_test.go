package ckks_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/dp"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

func ExampleNewParameters() {
	parameters, err := ckks.NewParameters(ckks.Settings{}) // what the REST interface has as defaults
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(parameters)
	fmt.Println(parameters.Slots(), "numbers a ciphertext")

	_, err = ckks.NewParameters(ckks.Settings{PolyModulusDegree: 4096, CoeffModBitSizes: []int{60, 40, 40}})
	var field *ckks.FieldError
	fmt.Println(errors.As(err, &field), err)
	// Output:
	// degree 8192, moduli of [60 40 40] bits, scale 2^40
	// 4096 numbers a ciphertext
	// true ckks: coeff_mod_bit_sizes: [60 40 40] is more than the 109 bits with which degree 4096 gives 128 bits of security
}

func ExampleNewStrategy() {
	parameters, err := ckks.NewParameters(captured)
	if err != nil {
		log.Fatal(err)
	}
	mean, err := ckks.NewStrategy(parameters, strategy.Policy{MinAvailable: 2}, &ckks.Options{MaxAbs: 4})
	if err != nil {
		log.Fatal(err)
	}
	aggregation, err := mean.Begin(strategy.Round{Number: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer aggregation.Close()
	for name, examples := range map[string]int64{"first": 3, "second": 2} {
		message, err := os.ReadFile("testdata/tenseal/vector-" + name) // what the client sent
		if err != nil {
			log.Fatal(err)
		}
		layer, err := tensor.New(tensor.Uint8, []int{len(message)}, message)
		if err != nil {
			log.Fatal(err)
		}
		update := strategy.Update{Client: name, Examples: examples, Model: strategy.Model{layer}}
		if err := aggregation.Add(context.Background(), update); err != nil {
			log.Fatal(err)
		}
	}
	model, err := aggregation.Finish(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(model), "layer of type", model[0].DType())
	// Output:
	// 1 layer of type uint8
}

func ExampleParseContext() {
	data, err := os.ReadFile("testdata/tenseal/public")
	if err != nil {
		log.Fatal(err)
	}
	public, err := ckks.ParseContext(data)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(public.Degree, public.Moduli, public.PublicKey)

	data, err = os.ReadFile("testdata/tenseal/secret")
	if err != nil {
		log.Fatal(err)
	}
	_, err = ckks.ParseContext(data)
	fmt.Println(err)
	// Output:
	// 2048 [134176769 67104769] true
	// parse context: ckks: the context holds a secret key, which must not leave the clients
}

// Encrypted updates and differential privacy together: the server adds the noise
// to a sum that it cannot read.
func ExampleAggregation_Blur() {
	parameters, err := ckks.NewParameters(captured)
	if err != nil {
		log.Fatal(err)
	}
	mean, err := ckks.NewStrategy(parameters, strategy.Policy{}, &ckks.Options{MaxAbs: 4})
	if err != nil {
		log.Fatal(err)
	}
	private, err := dp.New(mean, strategy.Conf{"num_sampled_clients": 100, "noise_multiplier": 2}, nil)
	if err != nil {
		log.Fatal(err)
	}
	aggregation, err := private.Begin(strategy.Round{Number: 1})
	if err != nil {
		log.Fatal(err)
	}
	defer aggregation.Close()
	for _, name := range []string{"first", "second"} {
		message, err := os.ReadFile("testdata/tenseal/vector-" + name)
		if err != nil {
			log.Fatal(err)
		}
		layer, err := tensor.New(tensor.Uint8, []int{len(message)}, message)
		if err != nil {
			log.Fatal(err)
		}
		err = aggregation.Add(context.Background(), strategy.Update{Client: name, Examples: 5, Model: strategy.Model{layer},
			Metrics: map[string]any{"dpfedavg_norm_bit": true}})
		if err != nil {
			log.Fatal(err)
		}
	}
	if _, err := aggregation.Finish(context.Background()); err != nil { // it blurs
		log.Fatal(err)
	}
	fmt.Printf("epsilon %.3f\n", private.Privacy().Epsilon)
	// Output:
	// epsilon 1.993
}
