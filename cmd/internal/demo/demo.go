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

// Channels is what the demonstration needs of an manager.Manager.
type Channels interface {
	// Create makes a channel and starts it; manager.ErrChannelExists when the
	// identifier is taken.
	Create(ctx context.Context, config manager.ChannelConfig) (string, error)
	// Delete stops and removes a channel.
	Delete(ctx context.Context, id string) error
	// Get returns a channel with its status.
	Get(id string) (manager.Channel, error)
	// Stats returns the counts of all channels by identifier.
	Stats() map[string]annotate.Stats
}

// Config is what a demonstration needs; Rate apart, everything is required.
type Config struct {
	Channels Channels
	// Broker makes the connections to the MQTT broker at MQTT.
	Broker annotate.Broker
	MQTT   mqtt.Settings
	// Rate is the number of messages a second and format. Zero means as many
	// as come back.
	Rate int
	// Output gets the counts, once a second. Terminal says that it understands
	// control sequences, so that the lines can be written over.
	Output   io.Writer
	Terminal bool
}

const (
	connectTime = 10 * time.Second // for the connections of a format
	drainTime   = 5 * time.Second  // for the last messages to come out
	tidyTime    = 20 * time.Second // for removing what was made
)

// Run replays until ctx ends, waits for the messages under way, writes a
// summary, and removes its channels. Channels of the same name that an earlier
// run left behind are replaced. It returns an error when a channel cannot be
// made or a connection is lost for good.
func Run(ctx context.Context, config Config) (err error) {
	var lanes []*lane
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
		defer cancel()
		for _, l := range lanes {
			err = errors.Join(err, l.close(tidy))
		}
	}()
	for _, f := range formats() {
		l, err := openLane(ctx, &config, f)
		if l != nil {
			lanes = append(lanes, l)
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", f.name, err)
		}
	}
	return replay(ctx, &config, lanes)
}

// replay runs the lanes and shows how they do.
func replay(ctx context.Context, config *Config, lanes []*lane) error {
	sending, stopSending := context.WithCancel(ctx)
	receiving, stopReceiving := context.WithCancel(context.WithoutCancel(ctx))
	failed := make(chan error, 2*len(lanes))
	var senders, receivers sync.WaitGroup
	for _, l := range lanes {
		receivers.Go(func() { failed <- l.receive(receiving) })
		senders.Go(func() { failed <- l.send(sending) })
	}
	b := newBoard(config.Output, config.Terminal, lanes)
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
	drain(lanes)
	stopReceiving()
	receivers.Wait()
	b.summary()
	close(failed)
	for err := range failed {
		note(err)
	}
	return errors.Join(errs...)
}

// drain waits until everything that was sent has come out, within limits.
func drain(lanes []*lane) {
	limit := time.After(drainTime)
	for _, l := range lanes {
		for l.ledger.pendingCount() > 0 {
			select {
			case <-limit:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}
}
