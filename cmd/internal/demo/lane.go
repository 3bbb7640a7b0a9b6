package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/examples/weather"
)

// format is one way in which a station may send its observations.
type format struct {
	name    string
	input   annotate.InputFormat
	output  annotate.OutputFormat
	mapping string
	render  func([]byte, weather.Observation) []byte
}

func formats() []format {
	return []format{
		{"JSON", annotate.JSON, annotate.Turtle, weather.JSONMapping(), weather.AppendJSON},
		{"CSV", annotate.CSV, annotate.Turtle, weather.CSVMapping(), weather.AppendCSV},
		{"XML", annotate.XML, annotate.Turtle, weather.XMLMapping(), weather.AppendXML},
	}
}

// lane is one format under way: its channel, and a client at either end.
type lane struct {
	format
	channels  Channels
	channelID string
	topic     string // of the input
	rate      int
	out       annotate.Publisher
	in        annotate.Subscription
	ledger    *ledger
	confirmed atomic.Uint64 // taken over by the broker

	sampled            sync.Once
	sampleIn, sampleIs []byte
	sample             chan struct{} // closed when sampleIn and sampleIs are there
}

// openLane makes the channel and connects to both of its ends. On an error it
// returns what is to be closed.
func openLane(ctx context.Context, config *Config, f format) (*lane, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	word := strings.ToLower(f.name)
	l := &lane{
		format: f, channels: config.Channels, rate: config.Rate,
		topic:  "demo/" + word,
		ledger: newLedger(), sample: make(chan struct{}),
	}
	topic := func(name string) annotate.Topic {
		settings := config.MQTT
		settings.ClientID = ""
		return annotate.Topic{Name: name, Broker: mqtt.Type, Settings: settings}
	}
	named := func(name string) annotate.Topic {
		settings := config.MQTT
		settings.ClientID = "demo-" + uuid.NewString()
		return annotate.Topic{Name: name, Broker: mqtt.Type, Settings: settings}
	}
	rdf := "demo/rdf/" + word
	var err error
	if l.in, err = config.Broker.Subscribe(ctx, named(rdf), annotate.ConnectOptions{}); err != nil {
		return l, err
	}
	failures := topic("demo/errors/" + word)
	err = l.makeChannel(ctx, manager.ChannelConfig{
		ChannelConfig: annotate.ChannelConfig{
			ID: "demo-" + word, Input: topic(l.topic), Output: topic(rdf), Error: &failures,
			Mapping: annotate.Mapping{Name: "weather-" + word, InputFormat: f.input, OutputFormat: f.output, RML: f.mapping},
		},
		Metadata: manager.Metadata{
			Name:        "Demo: weather in " + f.name,
			Description: "Hourly weather reports become SOSA observations.",
		},
	})
	if err != nil {
		return l, err
	}
	l.out, err = config.Broker.Connect(ctx, named(l.topic), annotate.ConnectOptions{})
	return l, err
}

// makeChannel makes the channel, in place of one that was left behind.
func (l *lane) makeChannel(ctx context.Context, config manager.ChannelConfig) error {
	id, err := l.channels.Create(ctx, config)
	if errors.Is(err, manager.ErrChannelExists) {
		if err = l.channels.Delete(ctx, config.ID); err == nil {
			id, err = l.channels.Create(ctx, config)
		}
	}
	if err != nil {
		return err
	}
	l.channelID = id
	made, err := l.channels.Get(id)
	if err == nil && made.Status.Stopped {
		err = fmt.Errorf("channel %q did not start: %s", id, made.Status.Error)
	}
	return err
}

// close removes what openLane made.
func (l *lane) close(ctx context.Context) error {
	var errs []error
	if l.out != nil {
		errs = append(errs, l.out.Close(ctx))
	}
	if l.channelID != "" {
		errs = append(errs, l.channels.Delete(ctx, l.channelID))
	}
	if l.in != nil {
		errs = append(errs, l.in.Forget(ctx))
	}
	return errors.Join(errs...)
}

// send replays the observations again and again until ctx ends.
func (l *lane) send(ctx context.Context) error {
	p := pace{rate: l.rate}
	for {
		for o, err := range weather.Observations() {
			if err != nil {
				return err
			}
			if p.wait(ctx) != nil {
				return nil
			}
			if err := l.sendOne(ctx, o); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("send %s: %w", l.name, err)
			}
		}
	}
}

func (l *lane) sendOne(ctx context.Context, o weather.Observation) error {
	select {
	case l.ledger.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	message := l.render(nil, o)
	l.sampled.Do(func() { l.sampleIn = message })
	l.ledger.expect([]byte(weather.Expected(o)[0].Subject.Value))
	err := l.out.Publish(ctx, annotate.Message{Topic: l.topic, Payload: message}, func(err error) {
		if err == nil {
			l.confirmed.Add(1)
		}
	})
	if err != nil {
		l.ledger.withdraw()
	}
	return err
}

// receive takes what comes out until ctx ends.
func (l *lane) receive(ctx context.Context) error {
	for first := true; ; first = false {
		d, err := l.in.Receive(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("receive what %s became: %w", l.name, err)
		}
		l.ledger.arrive(d.Payload)
		d.Ack()
		if first {
			l.sampleIs = d.Payload
			close(l.sample)
		}
	}
}

// pace lets through so many a second. The zero pace lets everything through.
type pace struct {
	rate int // a second
	next time.Time
}

// wait returns when it is time for the next one, or with ctx's error.
func (p *pace) wait(ctx context.Context) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	now := time.Now()
	if p.next.IsZero() || now.Sub(p.next) > time.Second {
		p.next = now // what was held up for long is not made up for
	}
	timer := time.NewTimer(p.next.Sub(now))
	defer timer.Stop()
	p.next = p.next.Add(time.Second / time.Duration(p.rate))
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}
