package bonding

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/storage"
)

const portName = "tap0"

// cast is the two instances.
type cast struct {
	stage   *stage
	token   string
	actors  [2]*actor
	engines [2]*multilink.Engine
	closers []func() error
}

func newCast(ctx context.Context, s *stage) (_ *cast, err error) {
	c := &cast{stage: s, token: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	for side, role := range [2]node.Role{netlab.Client: node.Client, netlab.Server: node.Server} {
		if err := c.enter(ctx, netlab.Side(side), role); err != nil {
			return nil, fmt.Errorf("start %s: %w", role, err)
		}
	}
	return c, nil
}

// enter starts one instance.
func (c *cast) enter(ctx context.Context, side netlab.Side, role node.Role) error {
	engine, err := multilink.NewEngine(multilink.EngineConfig{Host: c.stage.hosts[side]})
	if err != nil {
		return err
	}
	c.engines[side] = engine
	c.closers = append(c.closers, engine.Close)
	port := multilink.PortConfig{Name: portName}
	if role == node.Server {
		port.Addresses = append(port.Addresses, addresses[side])
	}
	n, err := node.New(node.Config{
		Role: role, Plane: engine, Documents: storage.NewMemoryDocuments(), Port: port,
		Interfaces: c.stage.hosts[side].Links, Token: c.token,
	})
	if err != nil {
		return err
	}
	actor, err := newActor(ctx, n, c.token)
	if err != nil {
		return err
	}
	c.actors[side] = actor
	c.closers = append(c.closers, actor.close)
	return nil
}

func (c *cast) close() error {
	var errs []error
	for i := len(c.closers) - 1; i >= 0; i-- {
		errs = append(errs, c.closers[i]())
	}
	return errors.Join(errs...)
}

// connect gives both instances the links, has the server provision the client,
// and the client attach.
func (c *cast) connect(ctx context.Context) error {
	for i, l := range links {
		record := map[string]any{"name": l.name, "kind": l.kind, "priority": 10 * (i + 1)}
		if err := c.actors[netlab.Client].post(ctx, "/interfaces/add", record, nil); err != nil {
			return err
		}
		record["endpoint"] = c.stage.endpoint(i)
		if err := c.actors[netlab.Server].post(ctx, "/interfaces/add", record, nil); err != nil {
			return err
		}
	}
	var provisioned map[string]any
	client := map[string]any{"name": "gateway", "addresses": []string{addresses[netlab.Client].String()}}
	if err := c.actors[netlab.Server].post(ctx, "/tunnel/client/add", client, &provisioned); err != nil {
		return err
	}
	provisioned["server"] = c.actors[netlab.Server].url
	return c.actors[netlab.Client].post(ctx, "/tunnel/attach", provisioned, nil)
}

// active waits until a link carries the frames of both directions.
func (c *cast) active(ctx context.Context, link string) error {
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

func (c *cast) isActive(link string) bool {
	for _, e := range c.engines {
		peers := e.Status().Peers
		if len(peers) != 1 || peers[0].ActiveLink != link {
			return false
		}
	}
	return true
}

// follow tells of every failover and return until the function that it gives
// back is called.
func (c *cast) follow(ctx context.Context, n *narrator) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for side, e := range c.engines {
		who := [2]string{netlab.Client: "client", netlab.Server: "server"}[side]
		readers.Go(func() {
			// It ends with the context.
			_ = e.Events(ctx, func(event multilink.Event) {
				if event.Type == "failover" || event.Type == "return" {
					n.say("  %s: %s from %s to %s (%s)", who, event.Type, event.From, event.Link, event.Reason)
				}
			})
		})
	}
	return func() { cancel(); readers.Wait() }
}
