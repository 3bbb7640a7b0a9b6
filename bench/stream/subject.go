package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"net"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/kafka"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/bench/internal/rig"
	"github.com/iotenablers/enablers/bench/stream/workload"
)

// subject is one of our processes that are measured: what stands between the
// input topic and the output topic.
type subject struct {
	Kind     string // annotator, passthrough or sarama
	Broker   annotate.BrokerType
	Address  string
	In, Out  string
	Name     string // of session and consumer group
	Format   annotate.OutputFormat
	Exactly  bool   // once
	Window   int    // zero means the default
	Pad      int    // a passthrough makes its outputs as large as this, in bytes
	Once     bool   // subscribe, and end
	CPU, Mem string // files for profiles
}

// outcome is what a subject prints when it ends.
type outcome struct {
	Received, Published, Failed uint64
	Latency                     annotate.Latency
	Allocs, AllocBytes          uint64 // of the whole process, from its start
	Collections                 uint32
	CPU                         time.Duration // by getrusage, of the whole process
}

func (s subject) args() []string {
	text, _ := json.Marshal(s) // it has nothing that cannot be
	return []string{"subject", string(text)}
}

// runSubject is the process.
func runSubject(args []string) error {
	if len(args) != 1 {
		return flag.ErrHelp
	}
	var s subject
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return err
	}
	if s.CPU != "" {
		file, err := os.Create(s.CPU)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	if s.Mem != "" {
		runtime.MemProfileRate = 64 << 10
		defer s.writeAllocations()
	}
	o, err := s.run()
	if err != nil {
		return err
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	o.Allocs, o.AllocBytes, o.Collections = memory.Mallocs, memory.TotalAlloc, memory.NumGC
	o.CPU = rusage()
	return json.NewEncoder(os.Stdout).Encode(o)
}

func (s subject) writeAllocations() {
	file, err := os.Create(s.Mem)
	if err == nil {
		err = errors.Join(pprof.Lookup("allocs").WriteTo(file, 0), file.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func (s subject) run() (outcome, error) {
	switch s.Kind {
	case "annotator":
		return s.annotator()
	case "passthrough":
		return s.passthrough()
	case "sarama":
		return s.sarama()
	}
	return outcome{}, fmt.Errorf("unknown kind of subject %q", s.Kind)
}

// wait reports that the subject is ready, and waits until it has to end.
func (s subject) wait() {
	fmt.Println("ready")
	if !s.Once {
		untilInputEnds()
	}
}

func untilInputEnds() { _, _ = io.Copy(io.Discard, os.Stdin) }

func (s subject) topic(name, role string) annotate.Topic {
	host, text, _ := net.SplitHostPort(s.Address)
	port, _ := strconv.Atoi(text)
	if s.Broker == kafka.Type {
		return annotate.Topic{Name: name, Broker: kafka.Type, Settings: kafka.Settings{
			Host: host, Port: port, GroupID: s.Name, OffsetReset: kafka.Earliest,
		}}
	}
	return annotate.Topic{Name: name, Broker: mqtt.Type, Settings: mqtt.Settings{
		Protocol: "tcp", Host: host, Port: port, ClientID: s.Name + role,
	}}
}

func (s subject) driver() annotate.Driver {
	if s.Broker == kafka.Type {
		return kafka.Driver(kafka.New(nil), nil)
	}
	return mqtt.Driver(mqtt.New(nil), nil)
}

// annotator is a channel as a user makes it.
func (s subject) annotator() (outcome, error) {
	channel, err := annotate.NewChannel(annotate.ChannelConfig{
		ID: s.Name, Input: s.topic(s.In, "-in"), Output: s.topic(s.Out, "-out"), ExactlyOnce: s.Exactly,
		Mapping: annotate.Mapping{InputFormat: annotate.JSON, OutputFormat: s.Format, RML: workload.Mapping},
	}, annotate.Environment{
		Drivers: []annotate.Driver{s.driver()},
		Window:  s.Window, ConnectTimeout: rig.Patience,
	})
	if err != nil {
		return outcome{}, err
	}
	if err := channel.Start(context.Background()); err != nil {
		return outcome{}, err
	}
	s.wait()
	stopErr := channel.Stop(context.Background())
	stats := channel.Stats()
	return outcome{Received: stats.Received, Published: stats.Published, Failed: stats.Failed, Latency: stats.Latency},
		errors.Join(stopErr, channel.Close())
}

// passthrough hands every message on and acknowledges it when the output is
// confirmed: the least that is at least once.
func (s subject) passthrough() (outcome, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	driver := s.driver().Broker
	options := annotate.ConnectOptions{Window: s.Window}
	if s.Window == 0 && s.Broker == kafka.Type {
		options.Window = kafka.ChannelWindow // as a channel has it
	}
	out, err := driver.Connect(ctx, s.topic(s.Out, "-out"), options)
	if err != nil {
		return outcome{}, err
	}
	in, err := driver.Subscribe(ctx, s.topic(s.In, "-in"), options)
	if err != nil {
		return outcome{}, err
	}
	var o outcome
	ended := make(chan error, 1)
	go func() { ended <- s.pass(ctx, in, out, &o.Received, cancel) }()
	s.wait()
	limit, stop := context.WithTimeout(context.Background(), rig.Patience)
	defer stop()
	pauseErr := in.Pause(limit)
	passErr := <-ended
	closeErr := out.Close(limit)
	return o, errors.Join(pauseErr, passErr, closeErr, in.Close(limit), context.Cause(ctx))
}

func (s subject) pass(ctx context.Context, in annotate.Subscription, out annotate.Publisher, received *uint64, fail func(error)) error {
	for {
		d, err := in.Receive(ctx)
		switch {
		case errors.Is(err, annotate.ErrBrokerClosed):
			return nil
		case err != nil:
			return err
		}
		*received++
		m := annotate.Message{Topic: s.Out, Key: d.Key, Payload: d.Payload}
		if s.Pad > 0 {
			m.Payload = make([]byte, s.Pad)
			copy(m.Payload, d.Payload)
		}
		err = out.Publish(ctx, m, func(err error) {
			if err != nil {
				fail(err)
				return
			}
			d.Ack()
		})
		if err != nil {
			return err
		}
	}
}

// quantile returns a bound that a share of the messages did not exceed: that of
// a bucket, or what all of them took together.
func quantile(l annotate.Latency, share float64) time.Duration {
	var total, sum uint64
	for _, n := range l.Counts {
		total += n
	}
	for i, n := range l.Counts {
		if sum += n; float64(sum) >= share*float64(total) && i < len(l.Bounds) {
			return l.Bounds[i]
		}
	}
	return l.Sum
}
