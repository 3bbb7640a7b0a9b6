package kong

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// lockTag marks the service of a publish under way.
const lockTag = "enablers-publishing"

// lockName is the name of that service. Kong has it only once, which excludes
// others, and owners may have characters that names may not.
func lockName(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return "publishing." + hex.EncodeToString(sum[:8])
}

// acquire creates the service of a publish and returns its id, once no other publisher has
// one for the owner.
func (g *Gateway) acquire(ctx context.Context, owner string) (string, error) {
	if left, ok := g.left[owner]; ok {
		if err := g.release(ctx, left); err != nil {
			return "", err
		}
		delete(g.left, owner)
	}
	id, name := uuid.NewString(), lockName(owner)
	s := step{kind: entity.KindService, op: entity.Create, id: id, name: name, body: fields{
		"id": id, "name": name, "enabled": false, "protocol": "http", "host": "publishing.invalid", "port": 80, "tags": []any{lockTag, owner}}}
	// A wait that ends in the middle of a call has the same cause as one between two.
	waited := func(err error) error {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrBusy, err)
		}
		return err
	}
	for taken := false; ; taken = true {
		made := g.call(s)
		made.resume = func(ctx context.Context) error {
			return g.client.make(ctx, call{do: made.do, method: http.MethodGet, path: "/services/" + id})
		}
		err := g.client.make(ctx, made)
		var refused *Error
		if err == nil || (!(errors.As(err, &refused) && refused.taken()) && !isStatus(err, http.StatusNotFound)) {
			if err == nil {
				delete(g.seen, name)
			}
			if taken {
				err = waited(err)
			}
			return id, err
		}
		if err := g.breakDead(ctx, name); err != nil {
			return "", waited(err)
		}
		timer := time.NewTimer(patience)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", fmt.Errorf("%w: %w", ErrBusy, context.Cause(ctx))
		case <-timer.C:
		}
	}
}

// clean removes what a publish that had done everything else left.
func (g *Gateway) clean(ctx context.Context, owner string, before held) error {
	for id, raw := range before.raw[entity.KindService] {
		switch {
		case raw.text("name") != lockName(owner):
		case g.left[owner] == id:
			delete(g.left, owner)
			return g.release(ctx, id)
		default:
			return g.breakDead(ctx, lockName(owner))
		}
	}
	return nil
}

// sighting is the service of a publish of another process, since when this process sees it.
type sighting struct {
	id    string
	since time.Time
}

// breakDead removes the service of a publish that this process has seen for the lease. Clocks of other
// machines, such as those of Kong's nodes and of proxies in front of them, are not asked. The caller has the turn.
func (g *Gateway) breakDead(ctx context.Context, name string) error {
	var there struct {
		ID string `json:"id"`
	}
	err := g.client.make(ctx, call{do: "look for another publish", method: http.MethodGet,
		path: "/services/" + url.PathEscape(name), answer: &there})
	if isStatus(err, http.StatusNotFound) {
		delete(g.seen, name)
		return nil
	}
	if err != nil {
		return err
	}
	seen, known := g.seen[name]
	if !known || seen.id != there.ID {
		g.seen[name] = sighting{there.ID, time.Now()}
		return nil
	}
	if time.Since(seen.since) < g.config.Lease {
		return nil
	}
	g.logger.WarnContext(ctx, "a publish died half-way; what it prepared is removed", "service", name)
	if err := g.release(ctx, there.ID); err != nil {
		return err
	}
	delete(g.seen, name)
	return nil
}

// release removes the service of a publish, with the routes that were prepared on it.
func (g *Gateway) release(ctx context.Context, id string) error {
	routes, err := g.pages(ctx, entity.KindRoute, "/services/"+url.PathEscape(id)+"/routes")
	if err != nil && !isStatus(err, http.StatusNotFound) {
		return err
	}
	steps := make([]step, 0, len(routes)+1)
	for _, route := range routes {
		steps = append(steps, step{kind: entity.KindRoute, op: entity.Delete, id: route.text("id"), name: route.text("name")})
	}
	steps = append(steps, step{kind: entity.KindService, op: entity.Delete, id: id, name: "of the publish"})
	return g.apply(ctx, changeSet{remove: steps})
}
