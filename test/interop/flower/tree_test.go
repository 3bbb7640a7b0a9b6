package flower_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// Clients of Flower train at two edges, behind a collector in the middle, behind one that
// takes its first model from one of them; and all at one collector.
func TestCollector_upstream_givesTheModelOfOneCollector(t *testing.T) {
	pythons := []string{install(t, oldest), install(t, newest)}
	weights := func(at *collector, edges []*collector) []byte {
		var clients []*interop.Process
		for number := range 4 {
			edge := edges[number%len(edges)]
			clients = append(clients, startClient(t, pythons[number/2], options{Server: edge.clients, Number: number}))
		}
		for _, client := range clients {
			require.Zero(t, client.AwaitEnd())
		}
		at.awaitResult("tree")
		return at.weights("adder", "1", "tree")
	}
	one := startCollector(t, setup{})
	one.start("tree", training("FedYogi", 3, 4, nil))
	flat := weights(one, []*collector{one})

	top := startCollector(t, setup{})
	top.start("tree", training("FedYogi", 3, 1, nil))
	below := func(upper *collector, clients int) *collector {
		c := startCollector(t, setup{arguments: []string{"-upstream", upper.clients}})
		c.start("tree", training("FedAvg", 3, clients, nil))
		return c
	}
	middle := below(top, 2)
	edges := []*collector{below(middle, 2), below(middle, 2)}
	require.Equal(t, flat, weights(top, edges))
	for _, c := range append(edges, middle) {
		c.await("tree", "finished", func(s state) bool { return s.Status == "FINISHED" })
		require.Len(t, c.rounds("tree"), 3)
	}
	require.Equal(t, phase{1, 1, 0}, top.rounds("tree")[2].Fit)
}
