package flower_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/interop"
)

func TestCollector_clientConf_keepsItsTypes(t *testing.T) {
	for _, version := range releases() {
		t.Run(version, func(t *testing.T) {
			python := install(t, version)
			c := startCollector(t, setup{})
			config := training("avg", 1, 2, nil)
			config["client_conf"] = []any{map[string]any{
				"config_id": "first", "batch_size": "16", "steps_per_epoch": 2, "epochs": 3, "learning_rate": 1,
				"momentum": 0.9, "augment": true, "optimizer": "Grüße", "seed": -7,
			}}
			c.start("settings", config)
			clients := []*interop.Process{
				startClient(t, python, options{Server: c.clients}), startClient(t, python, options{Server: c.clients}),
			}
			for _, client := range clients {
				require.Equal(t, map[string][2]any{
					"config_id": {"str", "first"}, "batch_size": {"int", 16.0}, "steps_per_epoch": {"int", 2.0},
					"epochs": {"int", 3.0}, "learning_rate": {"float", 1.0}, "momentum": {"float", 0.9},
					"augment": {"bool", true}, "optimizer": {"str", "Grüße"}, "seed": {"int", -7.0},
				}, awaitFit(t, client, 1))
				require.Zero(t, client.AwaitEnd())
			}
			c.awaitResult("settings")
		})
	}
}

func TestCollector_lateClient_takesPartFromThenOn(t *testing.T) {
	python := install(t, newest)
	c := startCollector(t, setup{})
	c.start("late", training("FedAvg", 4, 2, nil))
	waits := newGate(t)
	first := startClient(t, python, options{Server: c.clients, Number: 0, Gate: string(waits)})
	second := startClient(t, python, options{Server: c.clients, Number: 1, Gate: string(waits)})
	awaitFit(t, first, 1)
	awaitFit(t, second, 1)
	late := startClient(t, python, options{Server: c.clients, Number: 2})
	c.await("late", "three clients", func(s state) bool { return s.Clients == 3 })
	waits.open(t, 4)
	c.awaitResult("late")
	for _, client := range []*interop.Process{first, second, late} {
		require.Zero(t, client.AwaitEnd())
	}
	awaitFit(t, late, 3)
	for i, r := range c.rounds("late") {
		clients := 3
		if i == 0 {
			clients = 2
		}
		require.Equal(t, phase{clients, clients, 0}, r.Fit, "round %d", r.Number)
		require.Equal(t, phase{3, 3, 0}, r.Evaluate, "round %d", r.Number)
	}
	requireAdded(t, load(t, python, c.weights("adder", "1", "late"))[0], 1.5+2+2+2)
}

// A client is killed in the second of three rounds. Those that stay add 1 and 2.
func TestCollector_killedClient_failsAsTheStrategyDemands(t *testing.T) {
	for _, c := range []struct {
		name, strategy string
		conf           map[string]any
		counts         bool // the round with the failure
	}{
		{"FaultTolerantFedAvg with enough answers", "FaultTolerantFedAvg",
			map[string]any{"min_completion_rate_fit": 0.5}, true},
		{"FaultTolerantFedAvg with too few answers", "FaultTolerantFedAvg",
			map[string]any{"min_completion_rate_fit": 0.9}, false},
		{"FedAvg that accepts failures", "FedAvg", map[string]any{"accept_failures": true}, true},
		{"FedAvg that accepts none", "FedAvg", map[string]any{"accept_failures": false}, false},
		{"FedMedian", "FedMedian", nil, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			python := install(t, oldest)
			collector := startCollector(t, setup{})
			collector.start("killed", training(c.strategy, 3, 2, c.conf))
			waits, never := newGate(t), newGate(t)
			one := startClient(t, python, options{Server: collector.clients, Number: 0, Gate: string(waits)})
			other := startClient(t, python, options{Server: collector.clients, Number: 1, Gate: string(waits)})
			awaitFit(t, one, 1)
			awaitFit(t, other, 1)
			victim := startClient(t, python, options{Server: collector.clients, Number: 8, Gate: string(never)})
			collector.await("killed", "three clients", func(s state) bool { return s.Clients == 3 })
			waits.open(t, 3)
			awaitFit(t, victim, 1)
			victim.Kill()
			collector.awaitResult("killed")
			require.Zero(t, one.AwaitEnd())
			require.Zero(t, other.AwaitEnd())

			rounds := collector.rounds("killed")
			require.Len(t, rounds, 3)
			require.Equal(t, phase{3, 2, 1}, rounds[1].Fit)
			require.Equal(t, phase{2, 2, 0}, rounds[1].Evaluate)
			require.Equal(t, []bool{true, c.counts, true}, []bool{rounds[0].Aggregated, rounds[1].Aggregated,
				rounds[2].Aggregated})
			sum := 4.5
			if !c.counts {
				sum = 3
				require.NotEmpty(t, rounds[1].Note)
			}
			requireAdded(t, load(t, python, collector.weights("adder", "1", "killed"))[0], sum)
		})
	}
}

// The answers that come in time may be few on a slow machine, and then their
// clients come again; what never comes is what matters here.
func TestCollector_slowClient_isLeftOut(t *testing.T) {
	python := install(t, oldest)
	c := startCollector(t, setup{})
	config := training("FaultTolerantFedAvg", 2, 2, map[string]any{"min_completion_rate_fit": 0.1})
	config["server_conf"] = map[string]any{"num_rounds": 2, "round_timeout": 15}
	never := newGate(t)
	silent := startClient(t, python, options{Server: c.clients, Number: 8, Gate: string(never)})
	c.start("timeout", config)
	startClient(t, python, options{Server: c.clients, Number: 1, Again: true})
	awaitFit(t, silent, 1) // the first round cannot begin without it
	startClient(t, python, options{Server: c.clients, Number: 1, Again: true})
	c.awaitResult("timeout")
	never.open(t, 1)
	require.NotZero(t, silent.AwaitEnd())
	require.Contains(t, silent.Output(), "DEADLINE_EXCEEDED")
	failures := 0
	for _, r := range c.rounds("timeout") {
		failures += r.Fit.Failures
	}
	require.NotZero(t, failures)
	// Nothing of what the silent one would have added is in the result.
	model := load(t, python, c.weights("adder", "1", "timeout"))[0]
	require.Contains(t, []float64{2, 4}, model[0].Least)
	requireAdded(t, model, model[0].Least)
}

func TestCollector_stop_endsJobsAndClientsWithoutAResult(t *testing.T) {
	for _, method := range []string{http.MethodPost, http.MethodGet} {
		t.Run(method, func(t *testing.T) {
			python := install(t, oldest)
			c := startCollector(t, setup{})
			c.start("stopped", training("avg", 3, 2, nil))
			waits := newGate(t)
			clients := []*interop.Process{
				startClient(t, python, options{Server: c.clients, Number: 0, Gate: string(waits)}),
				startClient(t, python, options{Server: c.clients, Number: 1, Gate: string(waits)}),
			}
			for _, client := range clients {
				awaitFit(t, client, 1)
			}
			code, answer, err := ask(method, c.url+"/job/stop", nil, "")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, code)
			require.Equal(t, "200", string(answer))
			require.Equal(t, "INTERRUPTED", c.status("stopped").Status)
			waits.open(t, 3)
			for _, client := range clients {
				require.Zero(t, client.AwaitEnd(), "it is disconnected as at the end of a training")
			}
			require.Empty(t, c.results("adder", "1"))

			// What comes after goes as if nothing had been.
			c.start("after", training("avg", 1, 2, nil))
			for number := range 2 {
				startClient(t, python, options{Server: c.clients, Number: number})
			}
			c.awaitResult("after")
			require.Equal(t, "INTERRUPTED", c.status("stopped").Status)
			require.Len(t, c.results("adder", "1"), 1)
		})
	}
}

// Two jobs are trained at once, with one port for the clients of both.
func TestCollector_clients_joinTheirJobAmongTwo(t *testing.T) {
	for name, told := range map[string]func(o *options, job string){
		"by the host of the address that they have": func(o *options, job string) {
			_, port, _ := strings.Cut(o.Server, ":")
			o.Server = job + ".localhost:" + port // RFC 6761: every such name is loopback
		},
		"by what they say of themselves": func(o *options, job string) { o.Properties = map[string]any{"training_id": job} },
	} {
		t.Run(name, func(t *testing.T) {
			python := install(t, oldest)
			c := startCollector(t, setup{})
			jobs := []string{"job-a", "job-b"}
			waits := newGate(t)
			for _, job := range jobs {
				config := training("avg", 2, 2, nil)
				config["model_name"] = job
				c.start(job, config)
			}
			var clients []*interop.Process
			for range 2 {
				for number, job := range jobs { // in turn, so that neither job is full before the other
					with := options{Server: c.clients, Number: number, Gate: string(waits)}
					told(&with, job)
					clients = append(clients, startClient(t, python, with))
				}
			}
			for _, client := range clients {
				awaitFit(t, client, 1) // both are in their first round at once
			}
			waits.open(t, 2)
			for _, client := range clients {
				require.Zero(t, client.AwaitEnd())
			}
			for number, job := range jobs {
				c.awaitResult(job)
				requireAdded(t, load(t, python, c.weights(job, "1", job))[0], float64(2*(number+1)))
			}
		})
	}
}
