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

// stream sends the observations in one format: it has a channel, and a client at each end.
type stream struct {
	format
	channels  Channels
	channelID string
	topic     string // of the input
	rate      int
	out       annotate.Publisher
	in        annotate.Subscription
	matcher   *matcher
	confirmed atomic.Uint64 // messages that the broker has confirmed

	sampled            sync.Once
	sampleIn, sampleIs []byte
	sample             chan struct{} // closed when sampleIn and sampleIs are there
}

// openStream creates the channel and connects to both of its ends. With an error it also
// returns the stream, which the caller closes.
func openStream(ctx context.Context, config *Config, f format) (*stream, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	word := strings.ToLower(f.name)
	s := &stream{
		format: f, channels: config.Channels, rate: config.Rate,
		topic:   "demo/" + word,
		matcher: newMatcher(), sample: make(chan struct{}),
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
	if s.in, err = config.Broker.Subscribe(ctx, named(rdf), annotate.ConnectOptions{}); err != nil {
		return s, err
	}
	failures := topic("demo/errors/" + word)
	err = s.makeChannel(ctx, manager.ChannelConfig{
		ChannelConfig: annotate.ChannelConfig{
			ID: "demo-" + word, Input: topic(s.topic), Output: topic(rdf), Error: &failures,
			Dialect: "rml", // as package weather expects the statements
			Mapping: annotate.Mapping{Name: "weather-" + word, InputFormat: f.input, OutputFormat: f.output, RML: f.mapping},
		},
		Metadata: manager.Metadata{
			Name:        "Demo: weather in " + f.name,
			Description: "Hourly weather reports become SOSA observations.",
		},
	})
	if err != nil {
		return s, err
	}
	s.out, err = config.Broker.Connect(ctx, named(s.topic), annotate.ConnectOptions{})
	return s, err
}

// makeChannel creates the channel, and replaces one that an earlier run has left behind.
func (s *stream) makeChannel(ctx context.Context, config manager.ChannelConfig) error {
	id, err := s.channels.Create(ctx, config)
	if errors.Is(err, manager.ErrChannelExists) {
		if err = s.channels.Delete(ctx, config.ID); err == nil {
			id, err = s.channels.Create(ctx, config)
		}
	}
	if err != nil {
		return err
	}
	s.channelID = id
	channel, err := s.channels.Get(id)
	if err == nil && channel.Status.Stopped {
		err = fmt.Errorf("channel %q did not start: %s", id, channel.Status.Error)
	}
	return err
}

// close removes what openStream created.
func (s *stream) close(ctx context.Context) error {
	var errs []error
	if s.out != nil {
		errs = append(errs, s.out.Close(ctx))
	}
	if s.channelID != "" {
		errs = append(errs, s.channels.Delete(ctx, s.channelID))
	}
	if s.in != nil {
		errs = append(errs, s.in.Forget(ctx))
	}
	return errors.Join(errs...)
}

// send replays the observations repeatedly until ctx ends.
func (s *stream) send(ctx context.Context) error {
	p := pace{rate: s.rate}
	for {
		for o, err := range weather.Observations() {
			if err != nil {
				return err
			}
			if p.wait(ctx) != nil {
				return nil
			}
			if err := s.sendOne(ctx, o); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return fmt.Errorf("send %s: %w", s.name, err)
			}
		}
	}
}

func (s *stream) sendOne(ctx context.Context, o weather.Observation) error {
	select {
	case s.matcher.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	message := s.render(nil, o)
	s.sampled.Do(func() { s.sampleIn = message })
	s.matcher.expect([]byte(weather.Expected(o)[0].Subject.Value))
	err := s.out.Publish(ctx, annotate.Message{Topic: s.topic, Payload: message}, func(err error) {
		if err == nil {
			s.confirmed.Add(1)
		}
	})
	if err != nil {
		s.matcher.withdraw()
	}
	return err
}

// receive reads the outputs until ctx ends.
func (s *stream) receive(ctx context.Context) error {
	for first := true; ; first = false {
		d, err := s.in.Receive(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("receive the output of %s: %w", s.name, err)
		}
		s.matcher.arrive(d.Payload)
		d.Ack()
		if first {
			s.sampleIs = d.Payload
			close(s.sample)
		}
	}
}

// pace limits a rate. The zero value limits nothing.
type pace struct {
	rate int // a second
	next time.Time
}

// wait returns nil when it is time for the next message, or the error of ctx.
func (p *pace) wait(ctx context.Context) error {
	if p.rate == 0 {
		return ctx.Err()
	}
	now := time.Now()
	if p.next.IsZero() || now.Sub(p.next) > time.Second {
		p.next = now // a long delay is not made up for
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
