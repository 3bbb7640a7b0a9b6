package flower_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/test/interop"
)

// zeroAdder begins with the parameters that the model "adder" in Python begins with.
type zeroAdder struct{ adder }

// Parameters implements [flower.Trainer].
func (zeroAdder) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat32s(make([]float32, 6), 2, 3), tensor.FromFloat64s(make([]float64, 4))), nil
}

// Thirty clients train at six edges, behind two collectors in the middle, behind one that
// takes its first model from one of them; and all at one collector. Six of them are Flower's
// own, three of each release; thirty would take gigabytes of Python.
func TestCollector_upstream_givesTheModelOfOneCollector(t *testing.T) {
	const clients, inPython, edgesBelow, middles = 30, 6, 3, 2
	pythons := []string{install(t, oldest), install(t, newest)}
	weights := func(at *collector, edges []*collector) []byte {
		var processes []*interop.Process
		ended := make(chan error, clients)
		for number := range clients {
			edge := edges[number%len(edges)]
			if number < inPython {
				python := pythons[number*len(pythons)/inPython]
				processes = append(processes, startClient(t, python, options{Server: edge.clients, Number: number}))
				continue
			}
			client, err := flower.NewClient(flower.ClientConfig{
				Target: edge.clients, Trainer: zeroAdder{adder{0.1 * float64(number)}},
			})
			require.NoError(t, err)
			go func() { ended <- client.Run(t.Context()) }()
		}
		for _, process := range processes {
			require.Zero(t, process.AwaitEnd())
		}
		var failed error
		for range clients - inPython {
			failed = errors.Join(failed, <-ended)
		}
		require.NoError(t, failed)
		at.awaitResult("tree")
		return at.weights("adder", "1", "tree")
	}
	one := startCollector(t, setup{})
	one.start("tree", training("FedYogi", 3, clients, nil))
	flat := weights(one, []*collector{one})

	top := startCollector(t, setup{})
	top.start("tree", training("FedYogi", 3, middles, nil))
	below := func(upper *collector, clients int) *collector {
		c := startCollector(t, setup{arguments: []string{"-upstream", upper.clients}})
		c.start("tree", training("FedAvg", 3, clients, nil))
		return c
	}
	var all, edges []*collector
	for range middles {
		middle := below(top, edgesBelow)
		all = append(all, middle)
		for range edgesBelow {
			edges = append(edges, below(middle, clients/middles/edgesBelow))
		}
	}
	require.Equal(t, flat, weights(top, edges))
	for _, c := range append(all, edges...) {
		c.await("tree", "finished", func(s state) bool { return s.Status == "FINISHED" })
		require.Len(t, c.rounds("tree"), 3)
	}
	require.Equal(t, phase{middles, middles, 0}, top.rounds("tree")[2].Fit)
}
