package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

// latencyTrial is how long messages took at a fixed rate.
type latencyTrial struct {
	Section   string  `json:"section"`
	Contender string  `json:"contender"`
	Rate      float64 `json:"messages_per_second"`
	Messages  int     `json:"messages"`
	// Channel is from the arrival of a message to its acknowledgement, by the
	// channel's own histogram: upper bounds.
	Channel map[string]float64 `json:"channel_ms_at_most,omitempty"`
	// Through is from the generator to the sink, both brokers' passes included.
	Through map[string]float64 `json:"generator_to_sink_ms,omitempty"`
	Error   string             `json:"error,omitempty"`
}

// quantiles are those that are reported, by name.
func quantiles() []struct {
	name  string
	share float64
} {
	return []struct {
		name  string
		share float64
	}{{"p50", 0.5}, {"p95", 0.95}, {"p99", 0.99}, {"p99.9", 0.999}}
}

// latency offers half of what each contender managed before.
func (b *bench) latency(ctx context.Context) error {
	return errors.Join(b.latencyMQTT(ctx), b.latencyKafka(ctx))
}

// half is half the median rate of a contender, or a guess when it did not run.
func (b *bench) half(section, name string, guess float64) float64 {
	var rates []float64
	for _, t := range b.record.Trials {
		if t.Section == section && t.Contender == name && t.Error == "" {
			rates = append(rates, t.Rate)
		}
	}
	if len(rates) == 0 {
		return guess
	}
	return rig.Median(rates) / 2
}

func (b *bench) latencyMQTT(ctx context.Context) error {
	broker, err := mosquitto(ctx, b.scratch)
	if err != nil {
		return err
	}
	defer broker.End()
	for _, c := range mqttContenders() {
		if c.java != nil || c.ours.Pad > 0 || !b.contenders.MatchString(c.name) {
			continue
		}
		t := latencyTrial{Section: "mqtt", Contender: c.name, Rate: b.half("mqtt", c.name, 8000)}
		if err := b.latencyThrough(ctx, broker, c, &t); err != nil {
			t.Error = err.Error()
		}
		b.tell(t)
	}
	return ctx.Err()
}

func (b *bench) tell(t latencyTrial) {
	b.record.Latencies = append(b.record.Latencies, t)
	fmt.Fprintf(os.Stderr, "latency %s %-26s at %.0f/s: channel %v, through %v %s\n", t.Section, t.Contender, t.Rate,
		t.Channel, t.Through, t.Error)
}

func (b *bench) latencyThrough(ctx context.Context, broker *broker, c contender, t *latencyTrial) error {
	t.Messages = int(t.Rate * b.seconds)
	s := b.site(broker.address)
	ledger := workload.NewLedger(t.Messages)
	begin := time.Now()
	sent, took := make([]time.Duration, t.Messages), make([]time.Duration, t.Messages)
	sink, err := newSink(s.address, s.out, ledger, func(n int) { took[n] = time.Since(begin) - sent[n] })
	if err != nil {
		return err
	}
	p, err := b.launch(ctx, c, s, mqtt.Type)
	if err != nil {
		return err
	}
	defer p.End()
	g, err := newGenerator(s.address, s.in)
	if err != nil {
		return err
	}
	defer g.close()
	first := time.Now()
	due := func() int64 { return int64(t.Rate * time.Since(first).Seconds()) }
	if err := g.run(ctx, t.Messages, due, func(n int) { sent[n] = time.Since(begin) }); err != nil {
		return err
	}
	for deadline := time.Now().Add(20 * time.Second); ledger.Count() < int64(t.Messages); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return errStalled
		}
	}
	_ = sink.Close()
	<-sink.ended // what it wrote can be read
	var end trial
	if err := b.conclude(c, p, &end); err != nil {
		return err
	}
	if err := ledger.Close(c.format); err != nil {
		return err
	}
	t.Channel = bounds(end.Ours.Latency)
	took = took[len(took)/10:] // without the start
	slices.Sort(took)
	t.Through = map[string]float64{}
	for _, q := range quantiles() {
		t.Through[q.name] = milliseconds(took[int(q.share*float64(len(took)-1))])
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// bounds returns the quantiles of a histogram; nil for an empty one.
func bounds(l annotate.Latency) map[string]float64 {
	if l.Sum == 0 {
		return nil
	}
	all := map[string]float64{}
	for _, q := range quantiles() {
		all[q.name] = milliseconds(quantile(l, q.share))
	}
	return all
}

func (b *bench) latencyKafka(ctx context.Context) error {
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
	for _, c := range kafkaContenders() {
		if c.java != nil || c.format == nil || !b.contenders.MatchString(c.name) {
			continue
		}
		t := latencyTrial{Section: "kafka", Contender: c.name, Rate: b.half("kafka", c.name, 20000)}
		if err := b.latencyOnCluster(ctx, k, broker, c, &t); err != nil {
			t.Error = err.Error()
		}
		b.tell(t)
	}
	return ctx.Err()
}

func (b *bench) latencyOnCluster(ctx context.Context, k *cluster, broker *broker, c contender, t *latencyTrial) error {
	t.Messages = int(t.Rate * b.seconds)
	s := b.site(broker.address)
	if err := errors.Join(k.create(s.in), k.create(s.out)); err != nil {
		return err
	}
	p, err := b.launch(ctx, c, s, kafka.Type)
	if err != nil {
		return err
	}
	defer p.End()
	if err := k.fill(ctx, s.in, t.Messages, t.Rate); err != nil {
		return err
	}
	_, err = meter{
		subject: p, broker: broker.Process, total: int64(t.Messages), settle: time.Second, stall: 20 * time.Second,
		done: func() (int64, error) { return k.written(s.out) },
	}.watch(ctx)
	if err != nil {
		return err
	}
	var end trial
	if err := b.conclude(c, p, &end); err != nil {
		return err
	}
	ledger := workload.NewLedger(t.Messages)
	if err := k.audit(s.out, ledger); err != nil {
		return err
	}
	t.Channel = bounds(end.Ours.Latency)
	format := rdf.NTriples
	return ledger.Close(&format)
}
