package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/status"
)

// change makes a change: edit changes a copy of the settings and returns the key of the
// one document that it changes. The change is applied to the plane, then stored, and
// holds when change returns nil. Otherwise everything is as it was before.
func (n *Node) change(ctx context.Context, edit func(*desired) (key string, err error)) (*desired, error) {
	return n.commit(ctx, edit, false)
}

// revoke is change for what cuts a client off. While the plane does not do what is
// configured anyway, it may refuse that as well: then it is stored all the same, so that
// no client stays connected because of, say, a port that is taken, and the error says so.
func (n *Node) revoke(ctx context.Context, edit func(*desired) (key string, err error)) (*desired, error) {
	return n.commit(ctx, edit, true)
}

func (n *Node) commit(ctx context.Context, edit func(*desired) (key string, err error), cuts bool) (*desired, error) {
	if err := n.started(ctx); err != nil {
		return nil, err
	}
	if err := n.take(ctx); err != nil {
		return nil, err
	}
	defer n.release()
	if n.phase.Load() == ended {
		return nil, busy("the instance is ending")
	}
	if err := n.settle(ctx); err != nil {
		return nil, err
	}
	before := n.now.Load()
	next := before.clone()
	key, err := edit(next)
	if errors.Is(err, errUnchanged) {
		return before, nil
	}
	if err != nil {
		return nil, err
	}
	// From here on the change is made or taken back, whether or not the client still waits for it.
	ctx = context.WithoutCancel(ctx)
	refused := n.apply(ctx, next)
	if refused != nil && !(cuts && n.trouble.Load() != nil) {
		return nil, refused
	}
	if err := n.save(ctx, key, next); err != nil {
		return nil, n.takeBack(ctx, before, err)
	}
	n.now.Store(next)
	if refused != nil {
		return nil, &fault{kind: unavailable, detail: "it is stored, and the plane does not do it yet, which " +
			"is tried again: " + refused.Error(), err: refused}
	}
	return next, nil
}

func (n *Node) save(ctx context.Context, key string, next *desired) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return n.store.save(ctx, key, next)
}

// takeBack applies the earlier settings to the plane after a change could not be stored.
func (n *Node) takeBack(ctx context.Context, before *desired, cause error) error {
	n.logger.Error("change could not be stored, and is taken back", "error", cause)
	if err := n.apply(ctx, before); err != nil {
		n.logger.Error("change could not be taken back; this is tried again", "error", err)
	}
	if errors.Is(cause, errUncertain) {
		n.uncertain = true
		n.trouble.Store(&cause) // until repair succeeds
	}
	return cause
}

// apply applies the settings to the plane. It leaves out links whose interface does not
// exist, if they were configured before; a link that a request adds needs its interface. Only the goroutine that has the turn calls it.
func (n *Node) apply(ctx context.Context, next *desired) error {
	ctx, cancel := context.WithTimeout(ctx, applyTime)
	defer cancel()
	missing := map[string]bool{}
	err := n.applyState(ctx, next, missing)
	if errors.Is(err, multilink.ErrUnknownLink) {
		if missing = n.config.absentees(ctx, n.now.Load(), next); len(missing) > 0 {
			err = n.applyState(ctx, next, missing)
		}
	}
	if err != nil {
		if next == n.now.Load() { // what is stored is not what the plane does
			why := fmt.Errorf("apply configuration: %w", err)
			n.trouble.Store(&why)
		}
		return fmt.Errorf("apply configuration: %w", err)
	}
	if before := *n.missing.Load(); !maps.Equal(before, missing) {
		n.reportMissing(before, missing)
	}
	n.missing.Store(&missing)
	n.trouble.Store(nil)
	return nil
}

func (n *Node) applyState(ctx context.Context, next *desired, missing map[string]bool) error {
	state, err := next.state(n.config.Port, missing)
	if err != nil {
		return err
	}
	return n.config.Plane.Apply(ctx, state)
}

// absentees are the links that are stored and whose interface is not there.
func (c *Config) absentees(ctx context.Context, stored, next *desired) map[string]bool {
	missing := map[string]bool{}
	there, err := c.interfaces(ctx)
	if err != nil || c.Interfaces == nil {
		return missing
	}
	for i := range next.head.Links {
		link := &next.head.Links[i]
		at := stored.link(link.Name)
		if at >= 0 && stored.head.Links[at].carrier() == link.carrier() && !there[link.carrier()] {
			missing[link.Name] = true
		}
	}
	return missing
}

func (n *Node) reportMissing(before, now map[string]bool) {
	for name := range now {
		if !before[name] {
			n.logger.Warn("link is left out while its interface is missing", "link", name)
			n.hub.publish(status.Event{Time: time.Now(), Type: "link", Link: name, State: status.Down, Reason: "its interface is missing"})
		}
	}
	for name := range before {
		if !now[name] {
			n.logger.Info("interface of a link is there again", "link", name)
		}
	}
}

// recordChange publishes a change that was made, and logs it.
func (n *Node) recordChange(kind, link, peer, reason string) {
	n.hub.publish(status.Event{Time: time.Now(), Type: kind, Link: link, Peer: peer, Reason: reason})
	n.logger.Info("configuration changed", "link", link, "peer", peer, "change", reason)
}
