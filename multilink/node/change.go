package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/status"
)

// Change changes the settings: the edit is checked and applied to the plane, then stored, and
// holds when Change returns the settings with it. Otherwise everything is as it was before. An
// edit that cuts a client off is stored even if the plane refuses it, while the plane does not
// do what is configured anyway: so that no client stays connected because of, say, a port that
// is taken, and the error says so. It is for the packages rest and page.
func (n *Node) Change(ctx context.Context, edit desired.Edit) (*desired.Settings, error) {
	at := &desired.Environment{Addresses: n.config.Port.Addresses, MaxClients: n.config.MaxClients,
		Interfaces: n.config.Interfaces, Resolve: n.config.Resolve}
	if err := edit.Prepare(ctx, n.now.Load(), at); err != nil {
		return nil, err
	}
	next, event, err := n.commit(ctx, edit, at)
	if err == nil && event != nil {
		n.hub.Publish(status.Event{Time: time.Now(), Type: event.Type, Link: event.Link, Peer: event.Peer, Reason: event.Reason})
		n.logger.Info("configuration changed", "link", event.Link, "peer", event.Peer, "change", event.Reason)
	}
	return next, err
}

func (n *Node) commit(ctx context.Context, edit desired.Edit, at *desired.Environment) (*desired.Settings, *desired.Event, error) {
	if err := n.started(ctx); err != nil {
		return nil, nil, err
	}
	if err := n.take(ctx); err != nil {
		return nil, nil, err
	}
	defer n.release()
	if n.phase.Load() == ended {
		return nil, nil, fault.Busy("the instance is ending")
	}
	if err := n.settle(ctx); err != nil {
		return nil, nil, err
	}
	before := n.now.Load()
	next := before.Clone()
	outcome, err := edit.Apply(ctx, next, at)
	if err != nil {
		return nil, nil, err
	}
	if outcome.Key == "" {
		return before, outcome.Event, nil
	}
	// From here on the change is made or taken back, whether or not the client still waits for it.
	ctx = context.WithoutCancel(ctx)
	refused := n.apply(ctx, next)
	if refused != nil && !(edit.Cuts && n.trouble.Load() != nil) {
		return nil, nil, refused
	}
	if err := n.save(ctx, outcome.Key, next); err != nil {
		return nil, nil, n.takeBack(ctx, before, err)
	}
	n.now.Store(next)
	if refused != nil {
		return nil, nil, &fault.Fault{Kind: fault.Unavailable, Detail: "it is stored, and the plane does not do it yet, which " +
			"is tried again: " + refused.Error(), Err: refused}
	}
	return next, outcome.Event, nil
}

// Switch prefers a link for a time, of [desired.LongestHold] at most; an empty name ends that.
// It is not stored.
func (n *Node) Switch(ctx context.Context, link string, hold time.Duration) error {
	if err := n.started(ctx); err != nil {
		return err
	}
	if link != "" {
		if err := n.now.Load().CheckSwitch(link); err != nil {
			return err
		}
		if (*n.missing.Load())[link] {
			return fault.Clash("link", "the interface of link %q is missing", link)
		}
	}
	if err := n.config.Plane.Switch(link, hold); err != nil {
		return err
	}
	n.logger.Info("links are switched by hand", "link", link, "hold", hold)
	return nil
}

func (n *Node) save(ctx context.Context, key string, next *desired.Settings) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return n.store.Save(ctx, key, next)
}

// takeBack applies the earlier settings to the plane after a change could not be stored.
func (n *Node) takeBack(ctx context.Context, before *desired.Settings, cause error) error {
	n.logger.Error("change could not be stored, and is taken back", "error", cause)
	if err := n.apply(ctx, before); err != nil {
		n.logger.Error("change could not be taken back; this is tried again", "error", err)
	}
	if errors.Is(cause, desired.ErrUncertain) {
		n.uncertain = true
		n.trouble.Store(&cause) // until repair succeeds
	}
	return cause
}

// apply applies the settings to the plane. It leaves out links whose interface does not
// exist, if they were configured before; a link that a request adds needs its interface. Only the goroutine that has the turn calls it.
func (n *Node) apply(ctx context.Context, next *desired.Settings) error {
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

func (n *Node) applyState(ctx context.Context, next *desired.Settings, missing map[string]bool) error {
	state, err := next.State(n.config.Port, missing)
	if err != nil {
		return err
	}
	return n.config.Plane.Apply(ctx, state)
}

// absentees returns the links that are stored and whose interface is not there.
func (c *Config) absentees(ctx context.Context, stored, next *desired.Settings) map[string]bool {
	missing := map[string]bool{}
	there, err := c.interfaces(ctx)
	if err != nil || c.Interfaces == nil {
		return missing
	}
	for i := range next.Head.Links {
		link := &next.Head.Links[i]
		at := stored.LinkAt(link.Name)
		if at >= 0 && stored.Head.Links[at].Carrier() == link.Carrier() && !there[link.Carrier()] {
			missing[link.Name] = true
		}
	}
	return missing
}

func (n *Node) reportMissing(before, now map[string]bool) {
	for name := range now {
		if !before[name] {
			n.logger.Warn("link is left out while its interface is missing", "link", name)
			n.hub.Publish(status.Event{Time: time.Now(), Type: "link", Link: name, State: status.Down, Reason: "its interface is missing"})
		}
	}
	for name := range before {
		if !now[name] {
			n.logger.Info("interface of a link is there again", "link", name)
		}
	}
}
