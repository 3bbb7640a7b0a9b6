package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/internal/netlab"
)

// failover is one fault of the primary link, and its end.
type failover struct {
	Contender string  `json:"contender"`
	Round     int     `json:"round"`
	Fault     string  `json:"fault"`
	Load      float64 `json:"load"`
	Calm      phase   `json:"calm"`  // before the fault: what the machine does by itself
	Fell      phase   `json:"fell"`  // from the fault to the restoration
	Rose      phase   `json:"rose"`  // from the restoration on
	Twice     int     `json:"twice"` // answers that came again
	Recovered bool    `json:"recovered"`
	Returned  bool    `json:"returned"` // the primary carried the packets in the end
}

// fault is something that happens to the primary, while packets are sent.
type fault struct {
	name            string
	happen, restore func(*netlab.Lab) error
	interval        time.Duration
	size            int
	packets         bool // only for what carries packets
	before, after   time.Duration
	settle          time.Duration // from the restoration to the end
}

// underWay is how long before a fault packets may have been sent that it takes.
const underWay = 20 * time.Millisecond

// packetSize is that of a ping's payload.
const packetSize = 100

const (
	silent  = "silent cut"
	carrier = "carrier lost"
	flooded = "silent cut, flooded"
)

func faults() []fault {
	primary := links[0].name
	cut := func(l *netlab.Lab) error { return l.Cut(primary) }
	restore := func(l *netlab.Lab) error { return l.Restore(primary) }
	pings := fault{interval: time.Millisecond, size: packetSize, before: 500 * time.Millisecond,
		after: 500 * time.Millisecond, settle: 2 * time.Second}
	all := []fault{pings, pings, {interval: 100 * time.Microsecond, size: 1300, before: time.Second,
		after: time.Second, settle: 2 * time.Second, packets: true}}
	for i, name := range []string{silent, carrier, flooded} {
		all[i].name, all[i].happen, all[i].restore = name, cut, restore
	}
	all[1].happen = func(l *netlab.Lab) error { return l.Carrier(primary, netlab.Client, false) }
	all[1].restore = func(l *netlab.Lab) error { return l.Carrier(primary, netlab.Client, true) }
	return all
}

// measureFailovers has a contender meet each fault, started anew for each.
func measureFailovers(ctx context.Context, s settings, r *record, what setting) error {
	var errs []error
	for _, f := range faults() {
		if (f.packets && what.stream) || ctx.Err() != nil {
			continue
		}
		t, err := measureFailover(ctx, s, what, f)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", f.name, err))
			continue
		}
		r.Failovers = append(r.Failovers, t)
	}
	return errors.Join(errs...)
}

func measureFailover(ctx context.Context, s settings, what setting, f fault) (t *failover, err error) {
	n, err := newNetwork(what.folder, what.links)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	server, err := what.start(ctx, n)
	if err != nil {
		return nil, err
	}
	l, err := n.open(ctx, server, what.stream)
	if err != nil {
		return nil, err
	}
	defer l.close()
	rig.AwaitCalm(ctx, calm)
	t = &failover{Contender: what.name, Round: what.round, Fault: f.name, Load: rig.LoadAverage()}
	return t, n.suffer(ctx, l, f, s.patience, t)
}

// suffer sends packets over a line while the primary fails and is restored.
func (n *network) suffer(ctx context.Context, l *line, f fault, patience time.Duration, t *failover) error {
	packets := &stream{line: l, interval: f.interval, size: f.size}
	sending, stop := context.WithCancel(ctx)
	defer stop()
	ran := make(chan error, 1)
	go func() { ran <- packets.run(sending, 2*time.Second) }()
	pause := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	pause(f.before) // a path that is new may be slow at first
	began := time.Now()
	pause(f.before)
	carried, err := n.carries(packets, pause)
	if err != nil {
		return err
	}
	if !carried {
		return fmt.Errorf("%s does not carry the packets to begin with", links[0].name)
	}
	fell := time.Now()
	if err := f.happen(n.lab); err != nil {
		return err
	}
	happened := time.Now()
	for !packets.reached(happened) && time.Since(happened) < patience && ctx.Err() == nil {
		pause(10 * time.Millisecond)
	}
	t.Recovered = packets.reached(happened)
	pause(f.after)
	rose := time.Now()
	if err := f.restore(n.lab); err != nil {
		return err
	}
	pause(f.settle)
	if t.Returned, err = n.carries(packets, pause); err != nil {
		return err
	}
	ended := time.Now()
	stop()
	if err := <-ran; err != nil {
		return err
	}
	fell = fell.Add(-underWay)
	t.Calm, t.Fell, t.Rose = packets.between(began, fell), packets.between(fell, rose), packets.between(rose, ended)
	t.Twice = packets.twice
	return ctx.Err()
}

// carries looks for a while whether the packets take the primary.
func (n *network) carries(packets *stream, pause func(time.Duration)) (bool, error) {
	before, err := n.sent(links[0].name)
	if err != nil {
		return false, err
	}
	already := packets.count()
	pause(200 * time.Millisecond)
	expected := (packets.count() - already) * packets.size
	after, err := n.sent(links[0].name)
	// Probes are fewer and shorter than half of the packets.
	return expected > 0 && after-before > float64(expected)/2, err
}
