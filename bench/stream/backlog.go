package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

// backlogTrial is the memory of a channel that finds messages waiting.
type backlogTrial struct {
	Section   string  `json:"section"`
	Contender string  `json:"contender"`
	Backlog   int     `json:"backlog"`
	Peak      int64   `json:"peak_rss_bytes"`
	Seconds   float64 `json:"seconds_to_empty"`
	Error     string  `json:"error,omitempty"`
}

// backlogs starts channels behind backlogs of several sizes.
func (b *bench) backlogs(ctx context.Context) error {
	return errors.Join(b.backlogsMQTT(ctx), b.backlogsKafka(ctx))
}

func (b *bench) sizes() []int { return []int{b.backlog / 100, b.backlog / 10, b.backlog} }

func (b *bench) noteBacklog(t backlogTrial, err error) {
	if err != nil {
		t.Error = err.Error()
	}
	b.record.Backlogs = append(b.record.Backlogs, t)
	fmt.Fprintf(os.Stderr, "backlog %s %s of %d: peak %d MB, %.1f s %s\n", t.Section, t.Contender, t.Backlog,
		t.Peak>>20, t.Seconds, t.Error)
}

func (b *bench) backlogsMQTT(ctx context.Context) error {
	broker, err := mosquitto(ctx, b.scratch)
	if err != nil {
		return err
	}
	defer broker.End()
	c := mqttContenders()[2]
	for _, n := range b.sizes() {
		t := backlogTrial{Section: "mqtt", Contender: c.name, Backlog: n}
		err := b.backlogMQTT(ctx, broker, c, &t)
		b.noteBacklog(t, err)
	}
	return ctx.Err()
}

func (b *bench) backlogMQTT(ctx context.Context, broker *broker, c contender, t *backlogTrial) error {
	s := b.site(broker.address)
	before := c
	before.ours.Once = true
	p, err := b.launch(ctx, before, s, mqtt.Type) // it leaves a session behind
	if err != nil {
		return err
	}
	if _, err := p.Stop(); err != nil {
		return err
	}
	g, err := newGenerator(s.address, s.in)
	if err != nil {
		return err
	}
	err = g.run(ctx, t.Backlog, func() int64 { return math.MaxInt64 }, nil)
	g.close()
	if err != nil {
		return err
	}
	ledger := workload.NewLedger(t.Backlog)
	sink, err := newSink(s.address, s.out, ledger, nil)
	if err != nil {
		return err
	}
	defer sink.Close()
	return b.empty(ctx, broker, c, s, mqtt.Type, t, func() (int64, error) { return ledger.Count(), nil }, func() error {
		return ledger.Close(c.format)
	})
}

// empty runs a channel until nothing waits any more.
func (b *bench) empty(ctx context.Context, broker *broker, c contender, s site, kind annotate.BrokerType, t *backlogTrial,
	done func() (int64, error), check func() error,
) error {
	begin := time.Now()
	p, err := b.launch(ctx, c, s, kind)
	if err != nil {
		return err
	}
	defer p.End()
	m := meter{subject: p, broker: broker.Process, total: int64(t.Backlog), settle: time.Second,
		stall: 30 * time.Second, done: done}
	if _, err := m.watch(ctx); err != nil {
		return err
	}
	t.Seconds = (time.Since(begin) - m.settle).Seconds()
	var end trial
	if err := b.conclude(c, p, &end); err != nil {
		return err
	}
	t.Peak = end.Peak
	return check()
}

func (b *bench) backlogsKafka(ctx context.Context) error {
	broker, err := apacheKafka(ctx, b.scratch, filepath.Join(b.cache, "kafka", "lib"))
	if err != nil {
		return err
	}
	defer broker.End()
	k, err := dialKafka(broker.address)
	if err != nil {
		return err
	}
	defer k.Close()
	for _, n := range b.sizes() {
		in := fmt.Sprintf("backlog-%d", n)
		if err := errors.Join(k.create(in), k.fill(ctx, in, n, 0)); err != nil {
			return err
		}
		c := kafkaContenders()[3]
		t := backlogTrial{Section: "kafka", Contender: c.name, Backlog: n}
		err := b.backlogKafka(ctx, k, broker, c, in, &t)
		b.noteBacklog(t, err)
	}
	return ctx.Err()
}

func (b *bench) backlogKafka(ctx context.Context, k *cluster, broker *broker, c contender, in string,
	t *backlogTrial) error {
	s := b.site(broker.address)
	s.in = in
	if err := k.create(s.out); err != nil {
		return err
	}
	return b.empty(ctx, broker, c, s, kafka.Type, t, func() (int64, error) { return k.written(s.out) }, func() error {
		ledger := workload.NewLedger(t.Backlog)
		return errors.Join(k.audit(s.out, ledger), ledger.Close(c.format))
	})
}
