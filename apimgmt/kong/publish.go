package kong

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// publish is Publish, without its name in the error.
func (g *Gateway) publish(ctx context.Context, owner string, config entity.Config) error {
	if owner == "" {
		return fmt.Errorf("%w: the owner has no name", entity.ErrInvalid)
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	ctx, cancel := context.WithTimeoutCause(ctx, g.config.PublishTimeout, errDead)
	defer cancel()
	n, err := g.node(ctx)
	if err != nil {
		return err
	}
	before, err := g.load(ctx, n)
	if err != nil {
		return err
	}
	next, err := g.wanted(ctx, n, owner, before, config)
	if err != nil {
		return err
	}
	changes, err := newChangeSet(owner, before, next, "")
	if err != nil {
		return err
	}
	if changes.empty() {
		return g.clean(ctx, owner, before)
	}
	if n.dbless {
		return g.replaceAll(ctx, changes)
	}
	staged, err := g.acquire(ctx, owner)
	if err != nil {
		return err
	}
	err = g.change(ctx, n, owner, config, staged)
	if left := g.aside(ctx, func(ctx context.Context) error { return g.release(ctx, staged) }); left != nil {
		// What is published does not depend on it.
		g.left[owner] = staged
		g.logger.WarnContext(ctx, "the service of a publish is left; the next one removes it", "owner", owner, "error", left.Error())
	}
	return err
}

// plan is Plan, without its name in the error.
func (g *Gateway) plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error) {
	if owner == "" {
		return entity.Plan{}, fmt.Errorf("%w: the owner has no name", entity.ErrInvalid)
	}
	n, err := g.node(ctx)
	if err != nil {
		return entity.Plan{}, err
	}
	before, err := g.load(ctx, n)
	if err != nil {
		return entity.Plan{}, err
	}
	next, err := g.wanted(ctx, n, owner, before, config)
	if err != nil {
		return entity.Plan{}, err
	}
	changes, err := newChangeSet(owner, before, next, "")
	if err != nil {
		return entity.Plan{}, err
	}
	checked := map[string]bool{} // plugins on many routes are often alike
	for _, s := range slices.Concat(changes.prepare, changes.show) {
		if s.kind != entity.KindPlugin {
			continue
		}
		body, err := marshal([]any{s.body["name"], s.body["config"], s.body["protocols"]})
		if err != nil {
			return entity.Plan{}, err
		}
		if checked[string(body)] {
			continue
		}
		checked[string(body)] = true
		if err := g.check(ctx, s); err != nil {
			return entity.Plan{}, err
		}
	}
	list, err := entity.Diff(before.config, next.config)
	return entity.Plan{Changes: list, Carried: next.carried, After: next.config.Counting(owner)}, err
}

// aside does what has to be done whether or not the context has ended.
func (g *Gateway) aside(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), g.config.PublishTimeout, errDead)
	defer cancel()
	return do(ctx)
}

// change applies the changes of a publish while it holds the lock.
func (g *Gateway) change(ctx context.Context, n node, owner string, config entity.Config, staged string) error {
	before, err := g.load(ctx, n) // others may have been quicker
	if err != nil {
		return err
	}
	next, err := g.wanted(ctx, n, owner, before, config)
	if err != nil {
		return err
	}
	changes, err := newChangeSet(owner, before, next, staged)
	if err != nil {
		return err
	}
	for _, s := range changes.check {
		if err := g.check(ctx, s); err != nil {
			return err
		}
	}
	err = g.apply(ctx, changes)
	if err == nil {
		return nil
	}
	back := g.aside(ctx, func(ctx context.Context) error { return g.putBack(ctx, n, owner, before, staged) })
	if back != nil {
		// What is at fault does not count any more: something has changed.
		g.logger.WarnContext(ctx, "a publish failed half-way", "owner", owner, "error", err.Error(), "undo", back.Error())
		return fmt.Errorf("%v; what was served before could not be put back, publish again: %v", err, back)
	}
	return err
}

// putBack has Kong serve again what it served before.
func (g *Gateway) putBack(ctx context.Context, n node, owner string, before held, staged string) error {
	now, err := g.load(ctx, n)
	if err != nil {
		return err
	}
	changes, err := newChangeSet(owner, now, before.again(), staged)
	if err != nil {
		return err
	}
	return g.apply(ctx, changes)
}

// apply sends the calls of a changeSet, as far as they succeed.
func (g *Gateway) apply(ctx context.Context, p changeSet) error {
	for _, steps := range [][]step{p.prepare, p.show, p.remove} {
		for _, s := range steps {
			if err := g.client.make(ctx, g.call(s)); err != nil && !(s.op == entity.Delete && isStatus(err, http.StatusNotFound)) {
				return err
			}
		}
	}
	return nil
}

// call is the call of a step. All can be made again: entities have ids.
func (g *Gateway) call(s step) call {
	path := createPath(s.kind, s.parent)
	made := call{do: fmt.Sprintf("%s %s %q", s.op, s.kind, s.name), method: http.MethodPut, path: path + "/" + url.PathEscape(s.id),
		body: s.sent(), secret: s.kind == entity.KindKey}
	switch s.op {
	case entity.Delete:
		made.method, made.body = http.MethodDelete, nil
	case entity.Create:
		// PUT would change an entity of the same id that another client has just made.
		update := made
		made.method, made.path = http.MethodPost, path
		made.resume = func(ctx context.Context) error { return g.resume(ctx, s, update) }
	}
	if s.kind == entity.KindPlugin {
		made.secret = hasSecret(s.body)
	}
	return made
}

// sent is the body of a step; what its path says is not said again.
func (s step) sent() any {
	if s.body == nil || (s.kind != entity.KindTarget && s.kind != entity.KindKey) {
		return s.body
	}
	body := make(fields, len(s.body))
	for name, value := range s.body {
		if name != "upstream" && name != "consumer" {
			body[name] = value
		}
	}
	return body
}

// resume is called if an entity that is created is there already, after an attempt
// that seemed to fail: it is ours if it has the id and the tags.
func (g *Gateway) resume(ctx context.Context, s step, update call) error {
	var there fields
	look := update
	look.method = http.MethodGet
	look.body = nil
	look.answer = &there
	if err := g.client.make(ctx, look); err != nil {
		return err
	}
	if !same(there["tags"], s.body["tags"]) {
		return &Error{Do: update.do, Status: http.StatusConflict, Message: "another client has created one of the same id",
			Violation: "primary key violation"}
	}
	return g.client.make(ctx, update)
}

// check has Kong validate an entity. A Kong that cannot do that is
// taken to agree.
func (g *Gateway) check(ctx context.Context, s step) error {
	made := g.call(s)
	made.method = http.MethodPost
	made.path = "/schemas/" + collection(s.kind) + "/validate"
	made.body = s.body
	made.resume = nil
	err := g.client.make(ctx, made)
	if isStatus(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented) {
		return nil
	}
	return err
}

// hasSecret reports whether a plugin's configuration has a secret in it, which a
// message of Kong might repeat.
func hasSecret(body fields) bool {
	settings, ok := body["config"]
	if !ok {
		return false
	}
	raw, err := marshal(settings)
	if err != nil {
		return true
	}
	return !same(raw, entity.RedactConfig(raw))
}

// patience is the time between two looks at the publish of another process.
const patience = 50 * time.Millisecond
