package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
)

// dials is how many clients of a load connect at a time.
const dials = 64

// load is the process of many clients, each with a connection of its own, that
// add one to every parameter. It prints "connected" once they are, goes on until
// they were sent away or its input ends, and prints the tally.
func load(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("bench/collect load", flag.ContinueOnError)
	target := flags.String("target", "", "`HOST:PORT` of the server")
	clients := flags.Int("clients", 1, "how many")
	size := flags.Int("bytes", 1e6, "`bytes` of the model")
	still := flags.Bool("still", false, "the server sends the model with which it began in every round, to all clients")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	trainer := &adder{elements: *size / layers / 4, rounds: map[int]*turn{}}
	if *still {
		trainer.still = *clients
	}
	slots := make(chan struct{}, dials)
	failures := make(chan error, *clients)
	var connecting, running sync.WaitGroup
	for range *clients {
		slots <- struct{}{}
		connecting.Add(1)
		connected := sync.OnceFunc(func() {
			<-slots
			connecting.Done()
		})
		client, err := flower.NewClient(flower.ClientConfig{Target: *target, Trainer: trainer,
			Dial: func(ctx context.Context, target string) (net.Conn, error) {
				defer connected()
				return new(net.Dialer).DialContext(ctx, "tcp", target)
			}})
		if err != nil {
			return err
		}
		running.Go(func() {
			defer connected()
			if err := client.Run(ctx); err != nil && ctx.Err() == nil {
				failures <- err
			}
		})
	}
	connecting.Wait()
	fmt.Println("connected")
	running.Wait()
	close(failures)
	if err := <-failures; err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(trainer.tally())
}

// tally is what the clients of a load have seen, by the value of the model,
// which counts the rounds.
type tally struct {
	Rounds []turn `json:"rounds"`
}

// turn is a round as clients measure it.
type turn struct {
	Fits  int   `json:"fits"`
	Begin int64 `json:"begin"` // of the first fit, in nanoseconds of the wall clock
}

func (t *tally) add(other tally) {
	for k, o := range other.Rounds {
		if k == len(t.Rounds) {
			t.Rounds = append(t.Rounds, o)
			continue
		}
		if mine := &t.Rounds[k]; o.Fits > 0 {
			if mine.Fits == 0 || o.Begin < mine.Begin {
				mine.Begin = o.Begin
			}
			mine.Fits += o.Fits
		}
	}
}

// lengths returns the seconds of the rounds but the last, if as many clients as
// there should have taken part in each.
func (t *tally) lengths(rounds, clients int) ([]float64, error) {
	if len(t.Rounds) != rounds {
		return nil, fmt.Errorf("clients saw %d rounds, there were %d", len(t.Rounds), rounds)
	}
	var all []float64
	for k, round := range t.Rounds {
		if round.Fits != clients {
			return nil, fmt.Errorf("%d clients took part in round %d, there should be %d", round.Fits, k+1, clients)
		}
		if k > 0 {
			all = append(all, float64(round.Begin-t.Rounds[k-1].Begin)/1e9)
		}
	}
	return all, nil
}

// startLoad starts clients in a process of their own.
func startLoad(ctx context.Context, folder, target string, clients int, size int64, still bool) (*rig.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return rig.Start(ctx, folder, nil, self, "load", "-target", target, "-clients", fmt.Sprint(clients), "-bytes",
		fmt.Sprint(size), fmt.Sprintf("-still=%t", still))
}

// readTally ends a load and returns what its clients have seen.
func readTally(p *rig.Process) (tally, error) {
	last, err := p.Stop()
	if err != nil {
		return tally{}, err
	}
	var t tally
	if err := json.Unmarshal([]byte(last), &t); err != nil {
		return tally{}, fmt.Errorf("a load said %q: %w", last, err)
	}
	return t, nil
}

// adder is a trainer of many clients. All that send the same model send the same
// bytes, so that the clients need little memory.
type adder struct {
	elements int // of a layer
	// still is the number of clients where the model stays as it is: the fits tell the
	// round then, and not its value.
	still int

	mu     sync.Mutex
	fits   int
	models []flower.Parameters // by their value
	rounds map[int]*turn
}

// model returns the model whose parameters all have the value. The lock is held.
func (a *adder) model(value int) flower.Parameters {
	for len(a.models) <= value {
		layer := make([]float32, a.elements)
		for i := range layer {
			layer[i] = float32(len(a.models))
		}
		model := make([]tensor.Tensor, layers)
		for i := range model {
			model[i] = tensor.FromFloat32s(layer)
		}
		a.models = append(a.models, flower.FromTensors(model...))
	}
	return a.models[value]
}

func (a *adder) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return flower.Config{}, nil
}

func (a *adder) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.model(0), nil
}

func (a *adder) Fit(_ context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	now := time.Now()
	value, err := a.value(ins.Parameters)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	round := value
	if a.still > 0 {
		if value != 0 {
			return nil, fmt.Errorf("a model of %d, expected the first", value)
		}
		round = a.fits / a.still
	}
	a.fits++
	if a.rounds[round] == nil {
		a.rounds[round] = &turn{Begin: now.UnixNano()}
	}
	a.rounds[round].Fits++
	return &flower.FitRes{Parameters: a.model(value + 1), NumExamples: 1}, nil
}

func (a *adder) Evaluate(_ context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	_, err := a.value(ins.Parameters)
	return &flower.EvaluateRes{Loss: 0.5, NumExamples: 1}, err
}

// value returns what the parameters of a model are, looking at some of them.
func (a *adder) value(parameters flower.Parameters) (int, error) {
	model, err := parameters.Decode()
	if err != nil {
		return 0, err
	}
	if len(model) != layers {
		return 0, fmt.Errorf("a model of %d layers, expected %d", len(model), layers)
	}
	var found []float64
	for _, layer := range model {
		if layer.Len() != a.elements {
			return 0, fmt.Errorf("a layer of %d elements, expected %d", layer.Len(), a.elements)
		}
		one := make([]float64, 1)
		for _, at := range []int{0, a.elements / 2, a.elements - 1} {
			layer.ReadFloat64s(one, at)
			found = append(found, one[0])
		}
	}
	value := int(found[0])
	if slices.ContainsFunc(found, func(v float64) bool { return v != float64(value) }) {
		return 0, fmt.Errorf("a model of %v, expected one whole number", found)
	}
	return value, nil
}

func (a *adder) tally() tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	var t tally
	for value, round := range a.rounds {
		for len(t.Rounds) <= value {
			t.Rounds = append(t.Rounds, turn{})
		}
		t.Rounds[value] = *round
	}
	return t
}
