package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/iotenablers/enablers/bench/internal/rig"
)

// crowd is a training of many clients, of which few take part in a round.
type crowd struct {
	Active int   `json:"active"` // in a round
	Idle   int   `json:"idle"`   // meanwhile
	Bytes  int64 `json:"bytes"`  // of the model
	Rounds int   `json:"rounds"`
}

// streamsTrial is the training of a crowd.
type streamsTrial struct {
	Trial int     `json:"trial"`
	Load  float64 `json:"load"`
	crowd
	Seconds  []float64 `json:"seconds"` // of the rounds, but for the last
	CPU      float64   `json:"cpuSeconds"`
	IdlePeak int64     `json:"idlePeak"` // bytes, with the idle clients alone
	Peak     int64     `json:"peak"`     // bytes
}

// streams measures our server with clients in Go, which are many.
func (b *bench) streams(ctx context.Context) error {
	for trial := range b.trials {
		rig.AwaitCalm(ctx, b.calm)
		t, err := b.streamsTrial(ctx, filepath.Join(b.folder, fmt.Sprintf("streams-%d", trial)))
		if err != nil {
			return fmt.Errorf("trial %d: %w", trial, err)
		}
		t.Trial = trial
		b.record.Streams = append(b.record.Streams, t)
	}
	return nil
}

func (b *bench) streamsTrial(ctx context.Context, folder string) (*streamsTrial, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	t := &streamsTrial{Load: rig.LoadAverage(), crowd: b.crowd}
	// All clients have one address, which may have half of the connections.
	c, err := b.bareCollector(ctx, folder, "-max-connections", fmt.Sprint(2*(t.Active+t.Idle)+100))
	if err != nil {
		return nil, err
	}
	defer c.End()
	// A share that is less than the active ones has just them take part.
	err = c.configure(ctx, t.Rounds, map[string]any{
		"min_fit_clients": t.Active, "min_available_clients": t.Active + t.Idle, "fraction_fit": 0.001,
		"fraction_evaluate": 0,
	})
	if err != nil {
		return nil, err
	}
	var loads []*rig.Process
	for _, clients := range []int{t.Idle, t.Active} {
		p, err := startLoad(ctx, folder, c.target(), clients, t.Bytes, false)
		if err != nil {
			return nil, err
		}
		defer p.End()
		if _, err := p.AwaitWork(ctx, "connected"); err != nil {
			return nil, err
		}
		if loads = append(loads, p); len(loads) == 1 {
			if err := c.connected(ctx, clients); err != nil {
				return nil, err
			}
			if t.IdlePeak, err = peak(c.Process); err != nil {
				return nil, err
			}
		}
	}
	if err := c.finished(ctx); err != nil {
		return nil, err
	}
	t.CPU = c.CPU().Seconds()
	if t.Peak, err = peak(c.Process); err != nil {
		return nil, err
	}
	t.Seconds, err = tallied(loads, training{Clients: t.Active, Rounds: t.Rounds})
	return t, err
}
