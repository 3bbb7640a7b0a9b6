package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// load is the process of the clients, or of the edges, which answer at once with what was
// made before. It ends when they were sent away or its input ends.
func load(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("collectors load", flag.ContinueOnError)
	target := flags.String("target", "", "`HOST:PORT` of the collector")
	streams := flags.Int("streams", 1, "clients, or edges")
	each := flags.Int("each", 0, "clients of an edge; 0 means that there are no edges")
	parameters := flags.Int("parameters", 50_000, "float32 numbers of the model")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	answers := prepare(*parameters, *each)
	slots := make(chan struct{}, 64) // that connect at a time
	running, ctx := errgroup.WithContext(ctx)
	for range *streams {
		slots <- struct{}{}
		connected := sync.OnceFunc(func() { <-slots })
		config := flower.ClientConfig{Target: *target, Trainer: answers, Dial: func(ctx context.Context, to string) (net.Conn, error) {
			defer connected()
			return new(net.Dialer).DialContext(ctx, "tcp", to)
		}}
		if *each > 0 {
			config.Header = map[string]string{"collector-edge-job": "YmVuY2g"} // "bench"
		}
		client, err := flower.NewClient(config)
		if err != nil {
			return err
		}
		running.Go(func() error { return client.Run(ctx) })
	}
	return running.Wait()
}

// prepared is a trainer that sends the same in every round.
type prepared struct {
	model, sum flower.Parameters
	fit        flower.Config
	evaluation flower.Config
}

// prepare makes the answers of a client, or of an edge with so many clients.
func prepare(parameters, each int) *prepared {
	random := rand.New(rand.NewPCG(1, 2))
	form := strategy.Model{tensor.FromFloat32s(make([]float32, parameters))}
	update := func() strategy.Model {
		return strategy.Map(form, func(values []float64, _, _ int) {
			for i := range values {
				values[i] = 0.05 * random.NormFloat64()
			}
		})
	}
	metrics := flower.Config{"loss": 0.5, "accuracy": 0.75}
	p := &prepared{model: flower.FromTensors(form...), sum: flower.FromTensors(update()...), fit: metrics, evaluation: metrics}
	if each == 0 {
		return p
	}
	sum := strategy.NewSum(form)
	for range each {
		if err := sum.Add(update(), 100); err != nil {
			panic(err)
		}
	}
	p.sum = flower.FromBytes("enablers.sum/1", sum.Encode()...)
	p.sum.Tensors = append([]flower.Blob{{summary(each, false)}}, p.sum.Tensors...)
	p.fit, p.evaluation = flower.Config{}, flower.Config{"enablers.sum/1": summary(each, true)}
	fmt.Fprintf(os.Stderr, "%.2f bytes an element, %.1f bytes a client\n",
		float64(sum.Encode()[0].Len())/float64(parameters), float64(len(summary(each, true)))/float64(each))
	return p
}

// summary is what an edge says of its clients, with two metrics, in the form of
// flcollect/internal/upstream.
func summary(clients int, losses bool) []byte {
	out := []byte{1}
	out = binary.AppendUvarint(out, uint64(clients))
	out = append(out, 0, 0, 0)                          // no failures, none far, none refused
	out = append(out, 3, 0)                             // three texts: the path, which is empty,
	for _, name := range []string{"loss", "accuracy"} { // and the names of metrics
		out = append(binary.AppendUvarint(out, uint64(len(name))), name...)
	}
	out = binary.AppendUvarint(out, uint64(clients))
	for i := range clients {
		name := fmt.Sprintf("ipv4:10.1.%d.%d:%d", i/200, i%200, 40_000+i%1000)
		out = append(binary.AppendUvarint(out, uint64(len(name))), name...)
		out = append(out, 0, 100, 2) // path, examples, metrics
		for metric := range byte(2) {
			out = append(out, 1+metric, 0)
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(1/float64(i+2)))
		}
	}
	if !losses {
		return append(out, 0, 0)
	}
	out = binary.AppendUvarint(out, uint64(clients))
	for i := range clients {
		out = binary.LittleEndian.AppendUint64(out, math.Float64bits(1/float64(i+2)))
	}
	return append(out, 0)
}

// Properties implements flower.Trainer.
func (*prepared) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

// Parameters implements flower.Trainer.
func (p *prepared) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return p.model, nil
}

// Fit implements flower.Trainer.
func (p *prepared) Fit(context.Context, flower.FitIns) (*flower.FitRes, error) {
	return &flower.FitRes{Parameters: p.sum, NumExamples: 100, Metrics: p.fit}, nil
}

// Evaluate implements flower.Trainer.
func (p *prepared) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{Loss: 0.5, NumExamples: 100, Metrics: p.evaluation}, nil
}
