package apimgmt

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/storage"
)

// change is a change of one enabler that is prepared on a snapshot: the desired state of
// its record and of the gateway.
type change struct {
	key        string
	desired    record
	routing    bool          // the gateway serves something else afterwards
	config     entity.Config // what the gateway is to serve of the enabler
	conflicts  []Conflict    // with routes of others; such a change is refused
	superseded []string      // versions that become sunset
	attached   bool          // others have attached something to what the gateway serves of the enabler
	plan       entity.Plan   // what the gateway changes, if it was computed
	stale      []string      // uploads that no record refers to after the change
	fresh      []string      // uploads that no record refers to if the change fails
}

// carried is what others had attached to the enabler's entities and keeps its place in the
// gateway by the change, in sentences.
func (c *change) carried() []string {
	var lines []string
	for _, one := range c.plan.Carried {
		lines = append(lines, one.String())
	}
	return lines
}

// prepareFunc prepares a change on a snapshot.
type prepareFunc func(ctx context.Context, current *snapshot) (*change, error)

// changes executes the changes of a catalogue, one after the other, in the order that the
// package documentation describes.
type changes struct {
	catalogue *catalogue
	files     *files
	routing   *routing
	gateway   Gateway
	log       *slog.Logger

	id             string        // of this publisher among those over the storage
	turn           chan struct{} // is full while this publisher applies a change
	patience       time.Duration // see Config
	gatewayTimeout time.Duration
}

// apply prepares a change and makes it. prepare is called again if another process has
// changed the catalogue meanwhile.
func (c *changes) apply(ctx context.Context, op, key string, prepare prepareFunc) error {
	release, err := acquire(ctx, c.turn)
	if err != nil {
		return fmt.Errorf("%s %q: wait for other changes: %w", op, key, err)
	}
	defer release()
	for {
		if err := c.resolvePending(ctx, c.patience); err != nil {
			return fmt.Errorf("%s %q: %w", op, key, err)
		}
		current, err := c.catalogue.snapshot(ctx)
		if err != nil {
			return fmt.Errorf("%s %q: %w", op, key, err)
		}
		if current.head.Pending != nil {
			continue
		}
		prepared, err := prepare(ctx, current)
		if err == nil && prepared.attached {
			if err = c.routing.plan(ctx, op, prepared); err != nil {
				c.files.discard(context.WithoutCancel(ctx), prepared.fresh)
			}
		}
		if c.catalogue.readStale(ctx, current.head, err) {
			continue
		}
		if err != nil {
			return err
		}
		// A change that has begun is brought to its end even if the client has gone.
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.gatewayTimeout+time.Minute)
		next, err := c.execute(whole, op, current.head, prepared)
		cancel()
		switch {
		case errors.Is(err, errOvertaken):
			c.files.discard(context.WithoutCancel(ctx), prepared.fresh)
			continue
		case errors.Is(err, ErrUnknown):
			return err
		case err != nil:
			c.files.discard(context.WithoutCancel(ctx), prepared.fresh)
			return err
		}
		if next.revision != 0 { // no other change since the snapshot
			c.catalogue.cache(current.with(next, prepared.key, prepared.desired))
		}
		c.files.discard(context.WithoutCancel(ctx), prepared.stale)
		return nil
	}
}

// errOvertaken means that another process has changed the catalogue since it was read.
var errOvertaken = errors.New("another change was committed first")

// execute writes a prepared change down as pending, applies it to the gateway, and commits
// it or rolls it back. It returns the next head; its revision is zero if another process
// has changed the catalogue meanwhile.
func (c *changes) execute(ctx context.Context, op string, h head, prepared *change) (head, error) {
	h.Serial++
	prepared.desired.Serial = h.Serial
	data, kept, err := prepared.desired.unknown.MarshalKept(prepared.desired)
	if err != nil {
		return head{}, err
	}
	prepared.desired.unknown = kept
	if len(data) > maxRecord {
		return head{}, &Error{Op: op, Key: prepared.key, Kind: ErrTooLarge,
			Text: fmt.Sprintf("its record has more than %d bytes; delete versions that are not needed", maxRecord)}
	}
	h.Pending = &pendingChange{
		ID: uuid.NewString(), Op: op, Holder: c.id, At: time.Now().UTC(),
		Key: prepared.key, Desired: prepared.desired, Routing: prepared.routing,
	}
	begun, err := c.catalogue.saveHead(ctx, h)
	switch {
	case errors.Is(err, storage.ErrConflict):
		return head{}, errOvertaken
	case err != nil:
		return head{}, unknown(op, prepared.key, err) // it may have been written
	}
	done, next := open, head{}
	var fault error // of the gateway
	if prepared.routing {
		fault = c.applyToGateway(ctx, prepared.key, prepared.config)
	}
	if fault == nil {
		done, next, err = c.commit(ctx, begun)
	} else {
		done, err = c.rollBack(ctx, begun)
	}
	switch {
	case err != nil || done == forgotten:
		return head{}, unknown(op, prepared.key, errors.Join(fault, err))
	case done == rolledBack && fault == nil:
		return head{}, refused(op, prepared.key, errRolledBack)
	case done == rolledBack:
		return head{}, refused(op, prepared.key, fault)
	}
	return next, nil
}

// errRolledBack is the reason why a change is refused that the gateway of this process has taken.
var errRolledBack = errors.New("the gateway of another process that resumed the change has failed")

// applyToGateway has the gateway serve the desired configuration of an enabler.
func (c *changes) applyToGateway(ctx context.Context, key string, desired entity.Config) error {
	ctx, cancel := context.WithTimeout(ctx, c.gatewayTimeout)
	defer cancel()
	return c.gateway.Publish(ctx, ownerTag(key), desired)
}

// commit writes the record of the pending change, takes the change out of the head and
// returns the head. If another process has done that already, because it took too long
// here, the head is empty. A change that another process has rolled back stays so.
func (c *changes) commit(ctx context.Context, h head) (outcome, head, error) {
	pending := h.Pending
	done, err := c.catalogue.settle(ctx, pending.Key, pending.Desired.Serial, func(record) record { return pending.Desired })
	if err != nil {
		return open, head{}, err
	}
	if done != committed {
		return done, head{}, c.takeOut(ctx, h)
	}
	h.Pending = nil
	if pending.Routing {
		h = h.unconfirmed(pending.Key, false)
	}
	next, err := c.catalogue.saveHead(ctx, h)
	if errors.Is(err, storage.ErrConflict) {
		// Other processes may since have applied something newer to the gateway.
		return done, head{}, c.repair(ctx, pending.Key)
	}
	return done, next, err
}

// rollBack writes down that the pending change is not to be committed, after the gateway has
// failed or refused it, and takes it out of the head. If another process has committed it
// already, it stays so.
func (c *changes) rollBack(ctx context.Context, h head) (outcome, error) {
	pending := h.Pending
	done, err := c.catalogue.settle(ctx, pending.Key, pending.Desired.Serial, func(current record) record {
		return current.without(pending.Desired.Serial, pending.Desired.Enabler)
	})
	if err != nil {
		return open, err
	}
	return done, c.takeOut(ctx, h)
}

// takeOut takes the pending change out of the head, and applies the committed state of its
// enabler to the gateway, which may serve another one. If that fails, the enabler stays
// unconfirmed and Run repairs it later.
func (c *changes) takeOut(ctx context.Context, h head) error {
	key := h.Pending.Key
	h.Pending = nil
	_, err := c.catalogue.saveHead(ctx, h.unconfirmed(key, true))
	if err != nil && !errors.Is(err, storage.ErrConflict) {
		return err
	}
	if err := c.repair(ctx, key); err != nil {
		c.log.Warn("apply the committed state to the gateway", "enabler", key, "error", err)
	}
	return nil
}

// resolvePending waits for the pending change of another process, and resumes it after
// patience. A pending change of this publisher is one that failed. The caller has the
// turn.
func (c *changes) resolvePending(ctx context.Context, patience time.Duration) error {
	waiting, since := "", time.Time{}
	for {
		h, err := c.catalogue.loadHead(ctx)
		if err != nil || h.Pending == nil {
			return err
		}
		if h.Pending.ID != waiting {
			waiting, since = h.Pending.ID, time.Now()
		}
		if h.Pending.Holder == c.id || time.Since(since) >= patience {
			err := c.resume(ctx, h)
			if err != nil && !c.catalogue.readStale(ctx, h, err) {
				return fmt.Errorf("finish %s %q: %w", h.Pending.Op, h.Pending.Key, err)
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

// resume commits the pending change, or rolls it back if the gateway refuses it.
func (c *changes) resume(ctx context.Context, h head) error {
	pending := h.Pending
	current, err := c.catalogue.record(ctx, pending.Key)
	if err != nil {
		return err
	}
	var fault error // of the gateway
	if pending.Routing && current.outcome(pending.Desired.Serial) == open {
		desired, err := c.routing.desired(ctx, pending.Desired)
		if err != nil {
			return err
		}
		fault = c.applyToGateway(ctx, pending.Key, desired)
	}
	var done outcome
	if fault == nil {
		done, _, err = c.commit(ctx, h)
	} else {
		done, err = c.rollBack(ctx, h)
	}
	if err != nil {
		return err
	}
	if done == committed {
		c.log.Info("pending change committed", "op", pending.Op, "enabler", pending.Key, "begun", pending.At)
	} else {
		c.log.Warn("pending change rolled back", "op", pending.Op, "enabler", pending.Key, "error", fault)
	}
	return nil
}

// repair applies the desired state of an enabler to the gateway, until the catalogue is
// the same before and after.
func (c *changes) repair(ctx context.Context, key string) error {
	return storage.Retry(ctx, func() (again bool, err error) {
		h, err := c.catalogue.loadHead(ctx)
		if err != nil {
			return false, err
		}
		current, err := c.catalogue.record(ctx, key)
		if err != nil {
			return false, err
		}
		desired, err := c.routing.desired(ctx, current)
		if err != nil {
			return c.catalogue.readStale(ctx, h, err), err
		}
		if err := c.applyToGateway(ctx, key, desired); err != nil {
			return false, fmt.Errorf("apply to the gateway: %w", err)
		}
		if slices.Contains(h.Unconfirmed, key) {
			_, err = c.catalogue.saveHead(ctx, h.unconfirmed(key, false))
			return errors.Is(err, storage.ErrConflict), err
		}
		later, err := c.catalogue.loadHead(ctx)
		return err == nil && later.revision != h.revision, err
	})
}

// acquire waits for a place in a channel that bounds something.
func acquire(ctx context.Context, places chan struct{}) (release func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
