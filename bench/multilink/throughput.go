package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/netlab"
)

// throughput is one measurement in both directions.
type throughput struct {
	Contender string  `json:"contender"`
	Round     int     `json:"round"`
	Load      float64 `json:"load"`
	Forward   flow    `json:"forward"` // from the client to the server
	Reverse   flow    `json:"reverse"`
}

// flow is one direction.
type flow struct {
	Rate        float64 `json:"megabitsPerSecond"` // that arrived
	CPU         float64 `json:"cpuSecondsPerGigabit"`
	Retransmits int     `json:"retransmits"`
}

// measureThroughput starts a contender and has iperf3 send in both directions.
func measureThroughput(ctx context.Context, s settings, r *record, what setting) (err error) {
	n, err := newNetwork(what.folder, what.links)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	server, err := what.start(ctx, n)
	if err != nil {
		return err
	}
	line, err := n.open(ctx, server, false)
	if err != nil {
		return err
	}
	line.close()
	iperf, err := n.launch(ctx, netlab.Server, nil, "iperf3", "-s", "-B", server.String(), "--forceflush")
	if err != nil {
		return err
	}
	defer n.end(iperf)
	if _, err := iperf.Await(ctx, "Server listening"); err != nil {
		return err
	}
	rig.AwaitCalm(ctx, calm)
	t := &throughput{Contender: what.name, Round: what.round, Load: rig.LoadAverage()}
	for _, direction := range []struct {
		of   *flow
		args []string
	}{{&t.Forward, nil}, {&t.Reverse, []string{"-R"}}} {
		before := n.processorTime()
		args := append([]string{"-c", server.String(), "-J", "-t", strconv.Itoa(int(s.length.Seconds()))}, direction.args...)
		output, err := n.run(ctx, netlab.Client, "iperf3", args...)
		if err != nil {
			return err
		}
		if err := direction.of.read(output, n.processorTime()-before); err != nil {
			return err
		}
	}
	if count, err := n.pieces(); err != nil || count > 0 {
		return errors.Join(err, fmt.Errorf("the hosts cut %d packets into pieces", count))
	}
	r.Throughputs = append(r.Throughputs, t)
	return nil
}

// calm is how long a trial waits for others to leave the machine alone.
const calm = 3 * time.Second

// read reads the report of iperf3 and works out what a gigabit cost.
func (f *flow) read(output []byte, took time.Duration) error {
	var report struct {
		Error string `json:"error"`
		End   struct {
			Sent struct {
				Retransmits int `json:"retransmits"`
			} `json:"sum_sent"`
			Received struct {
				Rate  float64 `json:"bits_per_second"`
				Bytes float64 `json:"bytes"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(output, &report); err != nil {
		return fmt.Errorf("read report of iperf3: %w", err)
	}
	end := report.End
	if report.Error != "" || end.Received.Bytes == 0 {
		return fmt.Errorf("iperf3: nothing arrived: %s", report.Error)
	}
	f.Rate = end.Received.Rate / 1e6
	f.CPU = took.Seconds() / (end.Received.Bytes * 8 / 1e9)
	f.Retransmits = end.Sent.Retransmits
	return nil
}
