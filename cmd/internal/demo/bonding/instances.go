package bonding

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// instances are the two ends of the demonstration.
type instances struct {
	token   string
	pair    *pair.Pair
	server  *runningNode
	client  *runningNode
	closers []func() error
}

func newInstances(ctx context.Context, s *testbed, listener net.Listener) (_ *instances, err error) {
	c := &instances{token: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	c.pair, err = pair.Open(ctx, pair.Config{
		Server: s.hosts[netlab.Server], Client: s.hosts[netlab.Client], Links: s.links, Token: c.token,
	})
	if err != nil {
		return nil, err
	}
	c.closers = append(c.closers, c.pair.Close)
	c.server = serve(ctx, c.pair.Server, listener)
	c.closers = append(c.closers, c.server.close)
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start client: %w", err)
	}
	c.client = serve(ctx, c.pair.Client, other)
	c.closers = append(c.closers, c.client.close)
	return c, nil
}

func (c *instances) close() error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	return errors.Join(errs...)
}

func (c *instances) connect(ctx context.Context) error {
	return c.pair.Connect(ctx, c.server.url, c.client.url)
}

func (c *instances) bonds() [2]*multilink.Bond {
	return [2]*multilink.Bond{netlab.Client: c.pair.Client.Bond, netlab.Server: c.pair.Server.Bond}
}

// active waits until a link carries the frames of both directions.
func (c *instances) active(ctx context.Context, link string) error {
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !c.isActive(link) {
		select {
		case <-limit.Done():
			return fmt.Errorf("wait for %s to carry the frames: %w", link, limit.Err())
		case <-ticker.C:
		}
	}
	return nil
}

func (c *instances) isActive(link string) bool {
	for _, e := range c.bonds() {
		peers := e.Status().Peers
		if len(peers) != 1 || peers[0].ActiveLink != link {
			return false
		}
	}
	return true
}

// follow prints every failover and return until the function that it returns is
// called.
func (c *instances) follow(ctx context.Context, n *reporter) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for side, e := range c.bonds() {
		who := [2]string{netlab.Client: "client", netlab.Server: "server"}[side]
		readers.Go(func() {
			// It ends with the context.
			_ = e.Events(ctx, func(event status.Event) {
				if event.Type == "failover" || event.Type == "return" {
					n.say("  %s: %s from %s to %s (%s)", who, event.Type, event.From, event.Link, event.Reason)
				}
			})
		})
	}
	return func() { cancel(); readers.Wait() }
}
