package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

// bench is one run of the benchmark.
type bench struct {
	settings
	self    string // this program
	scratch string
	mapping string // file
	serial  int    // of the last trial
	record  *record
}

// trial is one contender in one round.
type trial struct {
	Section   string `json:"section"`
	Contender string `json:"contender"`
	Round     int    `json:"round"`
	Messages  int    `json:"messages"`
	pace
	Peak       int64    `json:"peak_rss_bytes,omitempty"`
	Duplicates int      `json:"duplicates,omitempty"`
	OutBytes   float64  `json:"bytes_out_per_message,omitempty"`
	Load       float64  `json:"load_average_before"`
	Ours       *outcome `json:"outcome,omitempty"`
	Error      string   `json:"error,omitempty"`
}

// site makes the names of the next trial.
func (b *bench) site(address string) site {
	b.serial++
	id := fmt.Sprintf("t%d", b.serial)
	return site{
		address: address, in: "in-" + id, out: "out-" + id, name: "bench-" + id,
		mapping: b.mapping, peers: filepath.Join(b.cache, "peers"),
	}
}

// compare has contenders take turns.
func (b *bench) compare(ctx context.Context, section string, all []contender,
	run func(context.Context, contender, *trial) error) error {
	for round := range b.rounds {
		for _, c := range all {
			if !b.contenders.MatchString(c.name) {
				continue
			}
			t := &trial{Section: section, Contender: c.name, Round: round + 1, Load: rig.LoadAverage()}
			if err := run(ctx, c, t); err != nil {
				t.Error = err.Error()
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.record.Trials = append(b.record.Trials, t)
			fmt.Fprintf(os.Stderr, "%s round %d  %-36s %9.0f/s  %6.1f us/msg  broker %6.1f us/msg  %5d MB  load %.1f %s\n",
				section, t.Round, c.name, t.Rate, t.CPU, t.BrokerCPU, t.Peak>>20, t.Load, t.Error)
		}
	}
	return nil
}

// launch starts a contender and waits until it is ready.
func (b *bench) launch(ctx context.Context, c contender, s site, kind annotate.BrokerType) (*rig.Process, error) {
	if b.window > 0 {
		c.ours.Window = b.window
	}
	if b.profiles != "" && c.java == nil {
		name := filepath.Join(b.profiles, fmt.Sprintf("%s-%s-%s", kind, c.name, s.name))
		c.ours.CPU, c.ours.Mem = name+".cpu", name+".allocs"
	}
	args := c.command(b.self, s, kind)
	p, err := rig.Start(ctx, b.scratch, nil, args[0], args[1:]...)
	if err != nil {
		return nil, err
	}
	if _, err := p.Await(ctx, "ready"); err != nil {
		p.End()
		return nil, err
	}
	return p, nil
}

// conclude ends a contender and notes its result.
func (b *bench) conclude(c contender, p *rig.Process, t *trial) error {
	t.Peak = p.Peak()
	said, err := p.Stop()
	if err != nil || c.java != nil {
		return err
	}
	t.Ours = &outcome{}
	if err := json.Unmarshal([]byte(said), t.Ours); err != nil {
		return fmt.Errorf("read what it said at its end, %q: %w", said, err)
	}
	if t.Ours.Failed > 0 {
		return fmt.Errorf("%d messages failed", t.Ours.Failed)
	}
	return nil
}

// audit makes up the account of a trial.
func audit(c contender, ledger *workload.Ledger, t *trial) error {
	err := ledger.Close(c.format)
	t.Duplicates, t.OutBytes = ledger.Duplicates, float64(ledger.Bytes)/float64(t.Messages+ledger.Duplicates)
	return err
}

// overMQTT compares over a broker: generator, contender and sink at the same
// time.
func (b *bench) overMQTT(ctx context.Context) error {
	broker, err := mosquitto(ctx, b.scratch)
	if err != nil {
		return err
	}
	defer broker.End()
	b.record.broker(broker.version)
	return b.compare(ctx, "mqtt", mqttContenders(), func(ctx context.Context, c contender, t *trial) error {
		t.Messages = b.messages(c, b.mqttMessages)
		return b.trialMQTT(ctx, broker, c, t)
	})
}

// messages is how many a contender gets.
func (b *bench) messages(c contender, n int) int {
	if c.slow {
		return b.peerMessages
	}
	return n
}

// waiting is how many messages are at the broker at a time, so that it always
// has some and its queues stay short.
const waiting = 2000

func (b *bench) trialMQTT(ctx context.Context, broker *broker, c contender, t *trial) error {
	s := b.site(broker.address)
	ledger := workload.NewLedger(t.Messages)
	sink, err := newSink(s.address, s.out, ledger, nil)
	if err != nil {
		return err
	}
	defer sink.Close()
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
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	generated := make(chan error, 1)
	go func() {
		generated <- g.run(ctx, t.Messages, func() int64 { return ledger.Count() + waiting }, nil)
	}()
	watched, err := meter{
		subject: p, broker: broker.Process, total: int64(t.Messages), stall: 20 * time.Second,
		done: func() (int64, error) { return ledger.Count(), nil },
	}.watch(ctx)
	if err != nil {
		return err
	}
	if err := <-generated; err != nil {
		return err
	}
	if err := b.conclude(c, p, t); err != nil {
		return err
	}
	if err := audit(c, ledger, t); err != nil {
		return err
	}
	t.pace, err = measurePace(watched, int64(t.Messages))
	return err
}

// overKafka compares over a cluster whose input topics are filled before.
func (b *bench) overKafka(ctx context.Context) error {
	broker, err := apacheKafka(ctx, b.scratch, filepath.Join(b.cache, "kafka", "lib"))
	if err != nil {
		return err
	}
	defer broker.End()
	return b.onCluster(ctx, "kafka", broker, b.kafkaMessages, kafkaContenders())
}

// overFake is overKafka with a cluster in memory, which takes less of the
// processor: it shows what the clients cost.
func (b *bench) overFake(ctx context.Context) error {
	broker, err := fakeKafka(ctx, b.scratch, b.self)
	if err != nil {
		return err
	}
	defer broker.End()
	var ours []contender
	for _, c := range kafkaContenders() {
		// The ends of its transactions are not those of a real cluster: what
		// is committed cannot be read back with sarama.
		if c.java == nil && !c.ours.Exactly {
			ours = append(ours, c)
		}
	}
	return b.onCluster(ctx, "kfake", broker, b.fakeMessages, ours)
}

func (b *bench) onCluster(ctx context.Context, section string, broker *broker, messages int, all []contender) error {
	b.record.broker(broker.version)
	k, err := dialKafka(broker.address)
	if err != nil {
		return err
	}
	defer k.Close()
	for topic, n := range map[string]int{"weather": messages, "weather-slow": b.peerMessages} {
		if err := k.create(topic); err != nil {
			return err
		}
		if err := k.fill(ctx, topic, n, 0); err != nil {
			return err
		}
	}
	return b.compare(ctx, section, all, func(ctx context.Context, c contender, t *trial) error {
		t.Messages = b.messages(c, messages)
		return b.trialKafka(ctx, k, broker, c, t)
	})
}

func (b *bench) trialKafka(ctx context.Context, k *cluster, broker *broker, c contender, t *trial) error {
	s := b.site(broker.address)
	s.in = "weather"
	if c.slow {
		s.in = "weather-slow"
	}
	if err := k.create(s.out); err != nil {
		return err
	}
	defer func() { _ = k.admin.DeleteTopic(s.out) }() // the broker ends soon in any case
	p, err := b.launch(ctx, c, s, kafka.Type)
	if err != nil {
		return err
	}
	defer p.End()
	watched, err := meter{
		subject: p, broker: broker.Process, total: int64(t.Messages), settle: time.Second, stall: 30 * time.Second,
		done: func() (int64, error) { return k.written(s.out) },
	}.watch(ctx)
	if err != nil {
		return err
	}
	if err := b.conclude(c, p, t); err != nil {
		return err
	}
	ledger := workload.NewLedger(t.Messages)
	if err := k.audit(s.out, ledger); err != nil {
		return err
	}
	if err := audit(c, ledger, t); err != nil {
		return err
	}
	t.pace, err = measurePace(watched, int64(t.Messages))
	return err
}
