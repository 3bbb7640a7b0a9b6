package flower_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

// Flower clients end when a server goes away, unless it has instructed them when to
// come back.
func TestCollector_restart_keepsItsClients(t *testing.T) {
	for _, version := range releases() {
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			way, with := startRelay(t), setup{data: t.TempDir(), arguments: []string{"-park", "1s"}}
			c := startCollector(t, with)
			way.lead(c.clients)
			c.start("restarted", training("avg", 2, 3, nil))
			clients := []*interop.Process{
				startClient(t, python, options{Server: way.address, Number: 0}),
				startClient(t, python, options{Server: way.address, Number: 1}),
			}
			c.await("restarted", "two clients", func(s state) bool { return s.Clients == 2 })
			way.expect()
			c.Stop()
			c = startCollector(t, with)
			way.lead(c.clients)
			c.await("restarted", "the two clients again", func(s state) bool { return s.Clients == 2 })
			clients = append(clients, startClient(t, python, options{Server: way.address, Number: 2}))
			for _, client := range clients {
				require.Zero(t, client.AwaitEnd())
			}
			c.awaitResult("restarted")
			requireAdded(t, load(t, python, c.weights("adder", "1", "restarted"))[0], 2*2)
		})
	}
}

// Clients that are started again find their training where it was.
func TestCollector_kill_resumesTheRound(t *testing.T) {
	for _, version := range releases() {
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			way, with, waits := startRelay(t), setup{data: t.TempDir()}, newGate(t)
			c := startCollector(t, with)
			way.lead(c.clients)
			c.start("killed", training("FedAvgM", 3, 2, map[string]any{"server_momentum": 0.5}))
			var clients []*interop.Process
			for range 2 {
				clients = append(clients, startClient(t, python,
					options{Server: way.address, Number: 3, Again: true, Gate: string(waits)}))
			}
			waits.open(t, 1)
			for _, client := range clients {
				awaitFit(t, client, 2)
			}
			way.expect()
			c.Kill()
			waits.open(t, 4)
			c = startCollector(t, with)
			require.Equal(t, 1, c.status("killed").Round)
			way.lead(c.clients)
			c.awaitResult("killed")
			require.Len(t, c.rounds("killed"), 3)
			// Every client adds 4: with momentum that makes steps of 4, 6 and 7.
			requireAdded(t, load(t, python, c.weights("adder", "1", "killed"))[0], 4+6+7)
		})
	}
}
