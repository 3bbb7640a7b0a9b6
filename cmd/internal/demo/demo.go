package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// Channels are the methods of the manager of channels that the demonstration calls.
type Channels interface {
	// Create creates and starts a channel. The error is manager.ErrChannelExists if the
	// identifier is taken.
	Create(ctx context.Context, config manager.ChannelConfig) (string, error)
	// Delete stops and removes a channel.
	Delete(ctx context.Context, id string) error
	// Get returns a channel with its status.
	Get(id string) (manager.Channel, error)
	// Stats returns the counts of all channels by identifier.
	Stats() map[string]annotate.Stats
}

// Config configures a demonstration. All fields but Rate and Terminal are required.
type Config struct {
	Channels Channels
	// Broker connects to the MQTT broker at MQTT.
	Broker annotate.Broker
	MQTT   mqtt.Settings
	// Rate is the number of messages a second and format. Zero means no limit but
	// the number of messages under way.
	Rate int
	// Output gets the counts, once a second. Terminal is set if it understands control
	// sequences, with which the counts overwrite the last ones.
	Output   io.Writer
	Terminal bool
}

const (
	connectTime = 10 * time.Second // for the connections of a format
	drainTime   = 5 * time.Second  // without an output, until the messages under way count as waiting
	tidyTime    = 20 * time.Second // for removing the channels
)

// Run replays observations until ctx ends, waits for the messages under way, writes a
// summary, and removes its channels. It replaces channels of the same name that an
// earlier run has left behind. It returns an error when a channel cannot be created or a
// connection is lost for good.
func Run(ctx context.Context, config Config) (err error) {
	var streams []*stream
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
		defer cancel()
		for _, s := range streams {
			err = errors.Join(err, s.close(tidy))
		}
	}()
	for _, f := range formats() {
		s, err := openStream(ctx, &config, f)
		if s != nil {
			streams = append(streams, s)
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", f.name, err)
		}
	}
	return replay(ctx, &config, streams)
}

// replay runs the streams and shows their counts.
func replay(ctx context.Context, config *Config, streams []*stream) error {
	sending, stopSending := context.WithCancel(ctx)
	receiving, stopReceiving := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 2*len(streams))
	var senders, receivers sync.WaitGroup
	for _, s := range streams {
		receivers.Go(func() { failed <- s.receive(receiving) })
		senders.Go(func() { failed <- s.send(sending) })
	}
	b := newBoard(config.Output, config.Terminal, streams)
	var errs []error
	note := func(err error) bool {
		if err != nil {
			errs = append(errs, err)
		}
		return err != nil
	}
	b.showUntil(sending, failed, note)
	stopSending()
	senders.Wait()
	drain(streams)
	stopReceiving()
	receivers.Wait()
	b.summary()
	close(failed)
	for err := range failed {
		note(err)
	}
	return errors.Join(errs...)
}

// drain waits for the outputs of the messages under way, until none has arrived for drainTime.
func drain(streams []*stream) {
	last := time.Now()
	for _, s := range streams {
		before := s.matcher.pendingCount()
		for before > 0 && time.Since(last) < drainTime {
			time.Sleep(5 * time.Millisecond)
			if now := s.matcher.pendingCount(); now < before {
				before, last = now, time.Now()
			}
		}
	}
}
