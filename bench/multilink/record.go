package main

import (
	"context"
	"errors"
	"slices"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// record is everything that is kept of a run.
type record struct {
	rig.Head
	MTU         int           `json:"mtu"`
	Seconds     float64       `json:"secondsOfADirection"`
	Patience    float64       `json:"patienceSeconds"`
	Throughputs []*throughput `json:"throughputs"`
	Failovers   []*failover   `json:"failovers"`
	Machined    []machined    `json:"machined,omitempty"`
	Hows        []string      `json:"hows"`
}

func newRecord(ctx context.Context, s settings) *record {
	return &record{
		Head: rig.NewHead(ctx, "multilink", []string{
			rig.PeerVersion(ctx, "openvpn", "--version"), rig.PeerVersion(ctx, "fastd", "--version"),
			rig.PeerVersion(ctx, "tincd", "--version"), rig.PeerVersion(ctx, "iperf3", "--version"),
		}, "multilink", "cmd/multilink", "bench/multilink", "bench/internal", "internal/netlab", "go.mod", "bench/go.mod"),
		MTU: mtu, Seconds: s.length.Seconds(), Patience: s.patience.Seconds(),
	}
}

func (r *record) addHow(c contender) {
	r.Hows = append(r.Hows, c.name+": "+c.how)
}

// write writes the record as JSON into the folder results, and RESULTS.md.
func (r *record) write(dir string) error {
	return rig.Write(dir, rig.FileName(r.Date), r, r.markdown())
}

// add puts the trials of another run to those of this one.
func (r *record) add(other record) error {
	if err := r.Join(other.Head); err != nil {
		return err
	}
	if r.MTU != other.MTU {
		return errors.New("it is of another MTU")
	}
	r.Throughputs = append(r.Throughputs, other.Throughputs...)
	r.Failovers = append(r.Failovers, other.Failovers...)
	r.Machined = append(r.Machined, other.Machined...)
	for _, how := range other.Hows {
		if !slices.Contains(r.Hows, how) {
			r.Hows = append(r.Hows, how)
		}
	}
	return nil
}
