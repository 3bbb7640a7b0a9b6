package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

func TestReport_hasMediansAndRatios(t *testing.T) {
	dir := t.TempDir()
	of := func(name string, forward, reverse, cpu float64) *throughput {
		return &throughput{Contender: name, Load: 2, Forward: flow{Rate: forward, CPU: cpu}, Reverse: flow{Rate: reverse, CPU: 2 * cpu}}
	}
	met := func(name, fault string, gap float64, lost int, recovered, returned bool) *failover {
		return &failover{Contender: name, Fault: fault, Load: 4, Calm: phase{500, 0, 3},
			Fell: phase{30000, lost, gap}, Rose: phase{2000, 0, 5}, Recovered: recovered, Returned: returned}
	}
	one := &record{
		Head: rig.Head{Date: "2026-01-31T10:00:00Z", Command: "first"}, MTU: 1400, Seconds: 5, Patience: 20,
		Hows: []string{"ours: as it is", "OpenVPN, one: a", "OpenVPN, other: b", "fastd: c", "bare link: d", "fastd, three remotes: e"},
		Throughputs: []*throughput{
			of("ours", 1000, 1200, 0.5), of("ours", 3000, 1200, 0.7), of("OpenVPN, one", 500, 300, 1), of("OpenVPN, other", 400, 600, 2),
			of("fastd", 1000, 800, 1), of("bare link", 9000, 9000, 0),
		},
		Failovers: []*failover{met("ours", silent, 31, 0, true, true), met("ours", silent, 33, 2, true, true),
			met("fastd, three remotes", silent, 20000, 20000, false, false)},
	}
	two := &record{
		Head: rig.Head{Date: "2026-01-31T11:00:00Z", Command: "second", Problems: []string{"this failed"}},
		MTU:  1400, Hows: []string{"ours: as it is", "tinc: f"},
		Throughputs: []*throughput{of("ours", 2000, 1200, 0.6), of("tinc", 100, 100, 6)},
		Failovers:   []*failover{met("ours", silent, 32, 1, true, false)},
		Machined:    []machined{{kernelBonding, 50, 4}},
	}
	require.NoError(t, one.write(dir))
	require.NoError(t, two.write(dir))
	records, err := filepath.Glob(filepath.Join(dir, "results", "*.json"))
	require.NoError(t, err)
	require.Len(t, records, 2)
	require.NoError(t, rig.Rewrite(records, (*record).add, (*record).markdown))
	text, err := os.ReadFile(filepath.Join(dir, "RESULTS.md"))
	require.NoError(t, err)
	for _, want := range []string{
		"| at least 2 times OpenVPN | 4.00 times | 2.00 times | 0.60 times | 0.60 times |",
		"| ahead of fastd | 2.00 times | 1.50 times | 0.60 times | 0.60 times |",
		"| ahead of tinc | 20.00 times | 12.00 times | 0.10 times | 0.10 times |",
		"| ours | 3 | 2000 (1000 to 3000) | 1200 (1200 to 1200) | 0.60 | 1.20 |",
		"| bare link | 1 | 9000 (9000 to 9000) | 9000 (9000 to 9000) | – | – |",
		"| ours | 3 | 3 (3 to 3) | 0 (0 to 0) of 500 | 32 (31 to 33) | 1 (0 to 2) of 30,000 | 5 (5 to 5) | 0 (0 " +
			"to 0) of 2,000 | 2 of 3 | 0 (0 to 0) |",
		"| over 20,000 in 1 of 1 | 20000 (20000 to 20000) of 30,000 |",
		"in the virtual machine | 1 | | | | all faults together: 4 of 50 |",
		"2.0 to 4.0", "`first` and `second`", "this failed",
	} {
		require.Contains(t, string(text), want)
	}
	require.NotContains(t, string(text), flooded+"\n")
	two.MTU = 1500
	require.NoError(t, two.write(dir))
	require.ErrorContains(t, rig.Rewrite(records, (*record).add, (*record).markdown), "of another MTU")
}

func TestReadIperf_readsItsOutput(t *testing.T) {
	text := `{"end": {"sum_sent": {"retransmits": 7}, "sum_received": {"bits_per_second": 2000000000, "bytes": 500000000}}}`
	var got flow
	require.NoError(t, got.read([]byte(text), 2*time.Second))
	require.Equal(t, flow{Rate: 2000, CPU: 0.5, Retransmits: 7}, got)
	for _, bad := range []string{"", "{}", `{"error": "unable to connect"}`} {
		require.Error(t, got.read([]byte(bad), time.Second))
	}
}

func TestReadVM_readsTheCounts(t *testing.T) {
	var m machined
	require.NoError(t, m.read("=== RUN TestX\n    x_test.go:1: through six changes: 10.9.0.1 ping statistics "+
		"---\n        50 packets transmitted, 46 packets received, 8% packet loss\n"))
	require.Equal(t, machined{Sent: 50, Lost: 4}, m)
	for _, bad := range []string{"", "--- SKIP: TestX", "0 packets transmitted, 0 packets received",
		"3 packets transmitted, 4 packets received"} {
		require.Error(t, m.read(bad), bad)
	}
}
