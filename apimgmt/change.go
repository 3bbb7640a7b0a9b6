package apimgmt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

// decision is what a change comes to.
type decision struct {
	key     string
	after   record
	routing bool          // the gateway has to be told
	config  entity.Config // what it then serves
	stale   []string      // uploads that nothing refers to afterwards
	fresh   []string      // uploads that nothing refers to if the change fails
}

// change makes a change in the order that the package documentation tells.
// decide is called with what there is, and again if somebody else was quicker.
func (p *Publisher) change(ctx context.Context, op, key string, decide func(context.Context, *snapshot) (*decision, error)) error {
	err := p.changed(ctx, op, key, decide)
	var refusal *Error
	switch {
	case err == nil:
		p.totals.changes.Add(1)
	case errors.As(err, &refusal) && refusal.Kind != ErrGateway && refusal.Kind != ErrUnknown:
		p.totals.refused.Add(1)
	default:
		p.totals.failed.Add(1)
	}
	return err
}

func (p *Publisher) changed(ctx context.Context, op, key string, decide func(context.Context, *snapshot) (*decision, error)) error {
	release, err := take(ctx, p.turn)
	if err != nil {
		return fmt.Errorf("%s %q: wait for other changes: %w", op, key, err)
	}
	defer release()
	for {
		if err := p.settle(ctx, p.config.Patience); err != nil {
			return fmt.Errorf("%s %q: %w", op, key, err)
		}
		at, err := p.snapshot(ctx)
		if err != nil {
			return fmt.Errorf("%s %q: %w", op, key, err)
		}
		if at.catalogue.Intent != nil {
			continue
		}
		made, err := decide(ctx, at)
		if p.outdated(ctx, at.catalogue, err) {
			continue
		}
		if err != nil {
			return err
		}
		// What is begun is ended, whether the client waits or not.
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.config.GatewayTimeout+time.Minute)
		next, err := p.make(late, op, at.catalogue, made)
		cancel()
		switch {
		case errors.Is(err, errOvertaken):
			p.discard(context.WithoutCancel(ctx), made.fresh)
			continue
		case errors.Is(err, ErrUnknown):
			return err
		case err != nil:
			p.discard(context.WithoutCancel(ctx), made.fresh)
			return err
		}
		if next.revision != 0 { // nothing else has changed since the snapshot
			p.keep(at.after(next, made.key, made.after))
		}
		p.discard(context.WithoutCancel(ctx), made.stale)
		return nil
	}
}

// outdated reports whether an error may come from a blob that was there when the
// catalogue was read, and that somebody has replaced since.
func (p *Publisher) outdated(ctx context.Context, c catalogue, err error) bool {
	if !errors.Is(err, storage.ErrNotFound) {
		return false
	}
	again, fault := p.load(ctx)
	return fault == nil && again.revision != c.revision
}

// errOvertaken says that somebody else has changed the catalogue since it was read.
var errOvertaken = errors.New("somebody else was quicker")

// make makes a change that is decided on a state of the catalogue, and returns the
// next one; its revision is zero if others have changed it meanwhile.
func (p *Publisher) make(ctx context.Context, op string, c catalogue, d *decision) (catalogue, error) {
	c.Serial++
	d.after.Serial = c.Serial
	data, err := json.Marshal(d.after)
	if err != nil {
		return catalogue{}, err
	}
	if len(data) > maxRecord {
		return catalogue{}, &Error{Op: op, Key: d.key, Kind: ErrTooLarge,
			Text: fmt.Sprintf("its record has more than %d bytes; delete versions that nobody needs", maxRecord)}
	}
	c.Intent = &intent{ID: uuid.NewString(), Op: op, Holder: p.id, At: time.Now().UTC(), Key: d.key, After: d.after, Routing: d.routing}
	begun, err := p.save(ctx, c)
	switch {
	case errors.Is(err, storage.ErrConflict):
		return catalogue{}, errOvertaken
	case err != nil:
		return catalogue{}, unknown(op, d.key, err) // it may have been written
	}
	if d.routing {
		if err := p.tell(ctx, d.key, d.config); err != nil {
			if undone := p.undo(ctx, begun); undone != nil {
				return catalogue{}, unknown(op, d.key, errors.Join(err, undone))
			}
			return catalogue{}, refused(op, d.key, err)
		}
	}
	next, err := p.complete(ctx, begun)
	if err != nil {
		return catalogue{}, unknown(op, d.key, err)
	}
	return next, nil
}

// tell has the gateway serve what an enabler has published.
func (p *Publisher) tell(ctx context.Context, key string, config entity.Config) error {
	ctx, cancel := context.WithTimeout(ctx, p.config.GatewayTimeout)
	defer cancel()
	return p.gateway.Publish(ctx, ownerOf(key), config)
}

// complete writes the record of the change under way, ends it, and returns the
// catalogue. Somebody else may have done that already, because it took so long; the
// catalogue is empty then.
func (p *Publisher) complete(ctx context.Context, c catalogue) (catalogue, error) {
	change := c.Intent
	if err := p.write(ctx, change); err != nil {
		return catalogue{}, err
	}
	c.Intent = nil
	if change.Routing {
		c = c.doubt(change.Key, false)
	}
	next, err := p.save(ctx, c)
	if errors.Is(err, storage.ErrConflict) {
		// Since then others may have told the gateway something newer than we did.
		return catalogue{}, p.heal(ctx, change.Key)
	}
	return next, err
}

// write writes the record of a change, unless a later one has been written.
func (p *Publisher) write(ctx context.Context, change *intent) error {
	key := recordPrefix + change.Key
	data, err := json.Marshal(change.After)
	if err != nil {
		return err
	}
	for {
		doc, err := p.docs.Get(ctx, key)
		if errors.Is(err, storage.ErrNotFound) {
			if _, err = p.docs.Create(ctx, key, data); errors.Is(err, storage.ErrExists) {
				continue
			}
		} else if err == nil {
			var there record
			if err := json.Unmarshal(doc.Data, &there); err != nil {
				return fmt.Errorf("read record %q: %w", key, err)
			}
			if there.Serial >= change.After.Serial {
				return nil
			}
			if _, err = p.docs.Update(ctx, key, doc.Revision, data); errors.Is(err, storage.ErrConflict) || errors.Is(err, storage.ErrNotFound) {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("write record %q: %w", key, err)
		}
		return nil
	}
}

// undo takes the change under way back after the gateway has failed or refused. The
// gateway is told what it had; if that fails as well, Run sees to it later.
func (p *Publisher) undo(ctx context.Context, c catalogue) error {
	key := c.Intent.Key
	c.Intent = nil
	_, err := p.save(ctx, c.doubt(key, true))
	if err != nil && !errors.Is(err, storage.ErrConflict) {
		return err
	}
	if err := p.heal(ctx, key); err != nil {
		p.log.Warn("the gateway could not be told what it served before", "enabler", key, "error", err)
	}
	return err // somebody else may have finished the change meanwhile
}

// settle waits for the change of another process that is under way, and finishes
// it if it takes longer than patience. A change of our own that is under way is
// one that failed. The caller has the turn.
func (p *Publisher) settle(ctx context.Context, patience time.Duration) error {
	waiting, since := "", time.Time{}
	for {
		c, err := p.load(ctx)
		if err != nil || c.Intent == nil {
			return err
		}
		if c.Intent.ID != waiting {
			waiting, since = c.Intent.ID, time.Now()
		}
		if c.Intent.Holder == p.id || time.Since(since) >= patience {
			err := p.finish(ctx, c)
			if err != nil && !p.outdated(ctx, c, err) {
				return fmt.Errorf("finish %s %q: %w", c.Intent.Op, c.Intent.Key, err)
			}
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another process: %w", ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// finish brings a change to its end that somebody has begun.
func (p *Publisher) finish(ctx context.Context, c catalogue) error {
	change := c.Intent
	written, err := p.isWritten(ctx, change)
	if err != nil {
		return err
	}
	if change.Routing && !written {
		config, err := p.serve(ctx, change.After)
		if err != nil {
			return err
		}
		if err := p.tell(ctx, change.Key, config); err != nil {
			if err := p.undo(ctx, c); err != nil && !errors.Is(err, storage.ErrConflict) {
				return err
			}
			p.log.Warn("a change was taken back", "op", change.Op, "enabler", change.Key, "error", err)
			return nil
		}
	}
	if _, err := p.complete(ctx, c); err != nil {
		return err
	}
	p.log.Info("a change was finished", "op", change.Op, "enabler", change.Key, "begun", change.At)
	return nil
}

func (p *Publisher) isWritten(ctx context.Context, change *intent) (bool, error) {
	doc, err := p.docs.Get(ctx, recordPrefix+change.Key)
	if errors.Is(err, storage.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var there record
	if err := json.Unmarshal(doc.Data, &there); err != nil {
		return false, fmt.Errorf("read record %q: %w", doc.Key, err)
	}
	return there.Serial >= change.After.Serial, nil
}
