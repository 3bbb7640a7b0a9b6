package kong

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// target is what a Kong shall have.
type target struct {
	config entity.Config
	// bodies are what is sent of entities.
	bodies  map[entity.Kind]map[string]fields
	carried []entity.Carried
}

// wanted is the desired state of a Kong: what it has once an owner's entities are replaced.
func (g *Gateway) wanted(ctx context.Context, n node, owner string, before held, config entity.Config) (target, error) {
	normal, err := entity.NewNormal(before.config)
	if err != nil {
		return target{}, err
	}
	replaced, carried, err := normal.ReplaceCarrying(owner, config)
	if err != nil {
		return target{}, err
	}
	sources := map[string]fields{} // of what is carried over, by the id that it gets
	for _, c := range carried {
		sources[c.To] = before.raw[c.Kind][c.From]
	}
	t := target{bodies: map[entity.Kind]map[string]fields{}, carried: carried}
	for _, kind := range kinds() {
		t.bodies[kind] = map[string]fields{}
	}
	// What is compared has been written and read again, as what Kong has was.
	err = each(replaced.Shared(), func(kind entity.Kind, id string, value any) error {
		body, err := n.encode(kind, value)
		if err != nil {
			return fmt.Errorf("write %s %q: %w", kind, id, err)
		}
		if source := sources[id]; source != nil {
			body = source.movedTo(body)
		}
		t.bodies[kind][id] = body
		return g.put(ctx, n, &t.config, kind, body)
	})
	if err != nil {
		return target{}, err
	}
	t.config, err = t.config.Normalize()
	return t, err
}

// again is a target that puts back what a Kong had.
func (h held) again() target {
	t := target{config: h.config, bodies: map[entity.Kind]map[string]fields{}}
	for kind, list := range h.raw {
		t.bodies[kind] = map[string]fields{}
		for id, raw := range list {
			t.bodies[kind][id] = raw.untimed()
		}
	}
	return t
}

// untimed are the fields as they are sent, without the times that Kong adds.
func (f fields) untimed() fields {
	body := make(fields, len(f))
	for name, value := range f {
		if name != "created_at" && name != "updated_at" {
			body[name] = value
		}
	}
	return body
}

// movedTo is what others have attached to an entity, as Kong wrote it, at another place: with
// the members that [entity.Config] has not, and without the name of an instance, which is unique.
func (f fields) movedTo(place fields) fields {
	body := f.untimed()
	delete(body, "instance_name")
	for _, name := range []string{"id", "service", "route"} {
		if value, ok := place[name]; ok {
			body[name] = value
		}
	}
	return body
}

// step is a call that changes something.
type step struct {
	kind   entity.Kind
	op     entity.Op
	id     string
	name   string
	parent string // of a target or a key
	body   fields // nil for deletions
}

// changeSet is the calls that bring a Kong from its current to the desired state, in their
// order; see the package documentation.
type changeSet struct {
	check   []step // validated only
	prepare []step // not seen by any request
	show    []step
	remove  []step
	cascade []step // what Kong deletes with what it belongs to
}

func (p changeSet) empty() bool { return len(p.prepare)+len(p.show)+len(p.remove) == 0 }

// changeSetBuilder creates a changeSet.
type changeSetBuilder struct {
	owner  string
	before held
	next   target
	staged string // the id of the disabled service for new routes

	created, deleted map[entity.Kind]map[string]bool
	guarded          map[string]bool // routes with plugins of their own
	set              changeSet
}

// newChangeSet creates a changeSet. staged is the id of the disabled service on which new routes
// are prepared.
func newChangeSet(owner string, before held, next target, staged string) (changeSet, error) {
	changes, err := entity.Diff(before.config, next.config)
	if err != nil {
		return changeSet{}, err
	}
	p := &changeSetBuilder{owner: owner, before: before, next: next, staged: staged, guarded: map[string]bool{},
		created: map[entity.Kind]map[string]bool{}, deleted: map[entity.Kind]map[string]bool{}}
	for _, kind := range kinds() {
		p.created[kind], p.deleted[kind] = map[string]bool{}, map[string]bool{}
	}
	for i, c := range changes {
		// An entity that is there but is not one that can be said, such as one whom a publish
		// that died had prepared, is put right if it is the owner's.
		if raw, there := before.raw[c.Kind][c.ID]; c.Op == entity.Create && there && slices.Contains(raw.texts("tags"), owner) {
			changes[i].Op = entity.Update
		}
	}
	changes = append(changes, p.leftovers()...)
	for _, c := range changes {
		switch c.Op {
		case entity.Create:
			p.created[c.Kind][c.ID] = true
		case entity.Delete:
			p.deleted[c.Kind][c.ID] = true
		}
	}
	if err := p.attached(); err != nil {
		return changeSet{}, err
	}
	for _, body := range next.bodies[entity.KindPlugin] {
		if id := body.ref("route"); id != "" {
			p.guarded[id] = true
		}
	}
	for _, c := range changes {
		p.add(c)
	}
	p.order()
	return p.set, nil
}

// leftovers are deletions of what has the owner's tag, and is neither served nor desired.
func (p *changeSetBuilder) leftovers() []entity.Change {
	known := map[entity.Kind]map[string]bool{}
	note := func(kind entity.Kind, id string, _ any) error {
		if known[kind] == nil {
			known[kind] = map[string]bool{}
		}
		known[kind][id] = true
		return nil
	}
	if each(p.before.config, note) != nil || each(p.next.config, note) != nil {
		return nil // note has no errors
	}
	var changes []entity.Change
	for _, kind := range kinds() {
		for id, raw := range p.before.raw[kind] {
			tags := raw.texts("tags")
			if slices.Contains(tags, p.owner) && !slices.Contains(tags, lockTag) && !known[kind][id] {
				changes = append(changes, entity.Change{Op: entity.Delete, Kind: kind, ID: id, Name: raw.text("name")})
			}
		}
	}
	return changes
}

// attached is an error if others have attached to what is deleted an entity that
// [entity.Config] cannot say, and that is therefore not carried over: Kong would delete it too.
func (p *changeSetBuilder) attached() error {
	sayable := map[string]bool{}
	err := each(p.before.config, func(_ entity.Kind, id string, _ any) error {
		sayable[id] = true
		return nil
	})
	for kind, list := range p.before.raw {
		for id, raw := range list {
			tags := raw.texts("tags")
			if sayable[id] || slices.Contains(tags, p.owner) || slices.Contains(tags, lockTag) {
				continue
			}
			for _, parent := range kinds() {
				if on := raw.ref(string(parent)); on != "" && p.deleted[parent][on] {
					err = errors.Join(err, fmt.Errorf("%w: %w: %s %q (id %s), which others have attached to %s %s, would be lost; "+
						"delete it first, or move it", entity.ErrAttached, entity.ErrConflict, kind, raw.text("name"), id, parent, on))
				}
			}
		}
	}
	return err
}

// add puts a change where it belongs.
func (p *changeSetBuilder) add(c entity.Change) {
	s := step{kind: c.Kind, op: c.Op, id: c.ID, name: cmp.Or(c.Name, c.ID)}
	if c.Op == entity.Delete {
		raw := p.before.raw[c.Kind][c.ID]
		s.parent = cmp.Or(raw.ref("upstream"), raw.ref("consumer"))
		if p.goes(c.Kind, raw) {
			p.set.cascade = append(p.set.cascade, s)
		} else {
			p.set.remove = append(p.set.remove, s)
		}
		return
	}
	s.body = p.next.bodies[c.Kind][c.ID]
	if c.Kind == entity.KindTarget || c.Kind == entity.KindKey {
		s.parent = cmp.Or(s.body.ref("upstream"), s.body.ref("consumer"))
	}
	switch {
	case c.Op == entity.Update:
		p.set.check = append(p.set.check, s)
		p.set.show = append(p.set.show, s)
	case c.Kind == entity.KindService && s.body["enabled"] != false:
		p.set.prepare = append(p.set.prepare, s.with("enabled", false))
		s.op = entity.Update
		p.set.show = append(p.set.show, s)
	case c.Kind == entity.KindRoute && p.guarded[c.ID] && !p.created[entity.KindService][s.body.ref("service")]:
		p.set.prepare = append(p.set.prepare, s.with("service", map[string]any{"id": p.staged}))
		s.op = entity.Update
		p.set.show = append(p.set.show, s)
	case p.unseen(s):
		p.set.prepare = append(p.set.prepare, s)
	default:
		p.set.check = append(p.set.check, s)
		p.set.show = append(p.set.show, s)
	}
}

// goes reports whether Kong deletes an entity with one that it belongs to. Routes it
// does not: they go before their services.
func (p *changeSetBuilder) goes(kind entity.Kind, raw fields) bool {
	if kind == entity.KindRoute {
		return false
	}
	for _, parent := range kinds() {
		if id := raw.ref(string(parent)); id != "" && p.deleted[parent][id] {
			return true
		}
	}
	return false
}

// unseen reports whether no request finds what is created: it is on something that is
// not shown yet, or is something that only others can refer to.
func (p *changeSetBuilder) unseen(s step) bool {
	switch s.kind {
	case entity.KindService, entity.KindUpstream, entity.KindConsumer:
		return true
	case entity.KindTarget:
		return p.created[entity.KindUpstream][s.parent]
	case entity.KindKey:
		return p.created[entity.KindConsumer][s.parent]
	case entity.KindRoute:
		return p.created[entity.KindService][s.body.ref("service")]
	case entity.KindPlugin:
		for _, kind := range []entity.Kind{entity.KindRoute, entity.KindService, entity.KindConsumer} {
			if id := s.body.ref(string(kind)); id != "" && p.created[kind][id] {
				return true
			}
		}
	}
	return false
}

// order sorts the steps that are seen: what guards before what it guards.
func (p *changeSetBuilder) order() {
	showing := map[entity.Kind]int{entity.KindUpstream: 0, entity.KindTarget: 1, entity.KindConsumer: 2, entity.KindKey: 3,
		entity.KindPlugin: 4, entity.KindService: 5, entity.KindRoute: 6}
	slices.SortStableFunc(p.set.show, func(a, b step) int { return cmp.Compare(showing[a.kind], showing[b.kind]) })
	removing := map[entity.Kind]int{entity.KindRoute: 0, entity.KindService: 1, entity.KindPlugin: 2, entity.KindKey: 3,
		entity.KindConsumer: 4, entity.KindTarget: 5, entity.KindUpstream: 6}
	slices.SortStableFunc(p.set.remove, func(a, b step) int { return cmp.Compare(removing[a.kind], removing[b.kind]) })
}

// with is a step with another value in its body.
func (s step) with(name string, value any) step {
	body := make(fields, len(s.body)+1)
	for key, is := range s.body {
		body[key] = is
	}
	body[name] = value
	s.body = body
	return s
}

// same reports whether two bodies are the same.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
