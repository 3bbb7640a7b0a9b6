package admin

import (
	"context"
	"crypto/rand"
	"net/http"
	"reflect"
	"strings"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// collection is the entities that an address of the API is about: all of a kind, or
// those of one other entity.
type collection struct {
	table  *table
	parent *table // nil for all
}

// findParent is the entity that the entities of the request belong to. Without a parent
// it is the zero row.
func (c collection) findParent(config *entity.Config, r *http.Request) (row, error) {
	if c.parent == nil {
		return row{}, nil
	}
	found, ok := c.parent.find(config, r.PathValue("parent"))
	if !ok {
		return row{}, notFound()
	}
	return found, nil
}

func (c collection) has(e, parent row) bool {
	return c.parent == nil || e.refersTo(c.parent.kind, parent.meta().ID)
}

// find is the entity that the request names.
func (c collection) find(config *entity.Config, r *http.Request) (row, error) {
	parent, err := c.findParent(config, r)
	if err != nil {
		return row{}, err
	}
	if e, ok := c.lookup(config, parent, r.PathValue("id")); ok {
		return e, nil
	}
	return row{}, notFound()
}

// lookup finds an entity of the collection by id or name. Names of targets are unique
// within an upstream only.
func (c collection) lookup(config *entity.Config, parent row, key string) (row, bool) {
	var named row
	for e := range c.table.rows(config) {
		switch {
		case !c.has(e, parent):
		case strings.EqualFold(e.meta().ID, key):
			return e, true
		case named.entity == nil && key != "" && e.name() == key:
			named = e
		}
	}
	return named, named.entity != nil
}

func (a *API) list(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		wanted, err := readListing(r)
		if err != nil {
			return err
		}
		now, err := a.store.current(r.Context())
		if err != nil {
			return err
		}
		parent, err := c.findParent(&now.config, r)
		if err != nil {
			return err
		}
		var items []item
		for e := range c.table.rows(&now.config) {
			if c.has(e, parent) && wanted.wants(e.meta().Tags) {
				items = append(items, item{e.meta().ID, a.shown(e)})
			}
		}
		writeJSON(w, http.StatusOK, wanted.cutPage(r, items))
		return nil
	}
}

func (a *API) get(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		now, err := a.store.current(r.Context())
		if err != nil {
			return err
		}
		e, err := c.find(&now.config, r)
		if err != nil {
			return err
		}
		writeJSON(w, http.StatusOK, a.shown(e))
		return nil
	}
}

// getReferred answers with the entity that another one refers to: /routes/{id}/service.
func (a *API) getReferred(c collection, kind entity.Kind) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		now, err := a.store.current(r.Context())
		if err != nil {
			return err
		}
		e, err := c.find(&now.config, r)
		if err != nil {
			return err
		}
		if ref := e.ref(kind); ref != nil && *ref != nil {
			if referred, ok := tableFor(kind).find(&now.config, (*ref).ID); ok {
				writeJSON(w, http.StatusOK, referred)
				return nil
			}
		}
		return notFound()
	}
}

func (a *API) create(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		made := c.table.blank()
		data, err := readBody(r, reflect.TypeOf(made.entity))
		if err != nil {
			return err
		}
		if err := decodeEntity(data, made); err != nil {
			return undecodable(err)
		}
		return a.write(w, r, http.StatusCreated, c, func(config *entity.Config) (row, error) {
			next := c.table.copy(made)
			return next, a.put(config, c, r, next)
		})
	}
}

// replace creates the entity that the request names, or puts another one in its place.
func (a *API) replace(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		made := c.table.blank()
		data, err := readBody(r, reflect.TypeOf(made.entity))
		if err != nil {
			return err
		}
		if err := decodeEntity(data, made); err != nil {
			return undecodable(err)
		}
		key := r.PathValue("id")
		return a.write(w, r, http.StatusOK, c, func(config *entity.Config) (row, error) {
			next := c.table.copy(made)
			parent, err := c.findParent(config, r)
			if err != nil {
				return next, err
			}
			next.meta().ID = ""
			if old, ok := c.lookup(config, parent, key); ok {
				next.meta().ID = old.meta().ID
				c.table.remove(config, old.meta().ID)
			}
			if _, err := uuid.Parse(key); err == nil {
				next.meta().ID = strings.ToLower(key)
			} else {
				next.setName(key)
			}
			return next, a.put(config, c, r, next)
		})
	}
}

// change changes the fields of an entity that the request has.
func (a *API) change(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		data, err := readBody(r, reflect.TypeOf(c.table.blank().entity))
		if err != nil {
			return err
		}
		return a.write(w, r, http.StatusOK, c, func(config *entity.Config) (row, error) {
			e, err := c.find(config, r)
			if err != nil {
				return row{}, err
			}
			id := e.meta().ID
			if err := decodeChange(data, e); err != nil {
				return row{}, undecodable(err)
			}
			if given := e.meta().ID; given != "" && !strings.EqualFold(given, id) {
				return row{}, schemaViolation("id", "cannot be changed")
			}
			e.meta().ID = id
			return e, nil
		})
	}
}

// remove deletes an entity. Deleting what is not there is no mistake.
func (a *API) remove(c collection) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := a.store.Change(r.Context(), func(config entity.Config) (entity.Config, error) {
			parent, err := c.findParent(&config, r)
			if err != nil {
				return config, err
			}
			e, ok := c.lookup(&config, parent, r.PathValue("id"))
			if !ok {
				return config, nil
			}
			return config, c.table.detach(&config, e.meta().ID)
		})
		if err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
}

// detach deletes an entity and what is nothing without it: the plugins on it, the keys
// of a consumer, the targets of an upstream. A service that has routes stays.
func (t *table) detach(config *entity.Config, id string) error {
	for _, other := range tables() {
		var attached []string
		for e := range other.rows(config) {
			if e.refersTo(t.kind, id) {
				attached = append(attached, e.meta().ID)
			}
		}
		if len(attached) > 0 && other.kind == entity.KindRoute {
			return referenced(other.schema, t.schema)
		}
		for _, id := range attached {
			other.remove(config, id)
		}
	}
	t.remove(config, id)
	return nil
}

// copy is an entity that shares no memory that normalising it would change.
func (t *table) copy(e row) row {
	var config entity.Config
	t.add(&config, e)
	config = config.Clone()
	for made := range t.rows(&config) {
		return made
	}
	return e
}

// put adds an entity to a configuration, for the parent that the request names.
func (a *API) put(config *entity.Config, c collection, r *http.Request, e row) error {
	parent, err := c.findParent(config, r)
	if err != nil {
		return err
	}
	if c.parent != nil {
		*e.ref(c.parent.kind) = &entity.Ref{ID: parent.meta().ID}
	}
	return c.table.insert(config, e)
}

// insert adds an entity, with what it lacks: an id that nothing had before, and the
// secret of a key.
func (t *table) insert(config *entity.Config, e row) error {
	if e.meta().ID == "" {
		id, err := uuid.NewRandom()
		if err != nil {
			return err
		}
		e.meta().ID = id.String()
	}
	if key, ok := e.entity.(*entity.Key); ok && key.Key == "" {
		key.Key = rand.Text()
	}
	t.add(config, e)
	return nil
}

// write applies a change and answers with the changed entity.
func (a *API) write(w http.ResponseWriter, r *http.Request, status int, c collection, change func(*entity.Config) (row, error)) error {
	stored, err := a.store.put(r.Context(), c.table, change)
	if err != nil {
		return err
	}
	writeJSON(w, status, a.shown(stored))
	return nil
}

// put applies a change of one entity, and returns it as it is stored. What is wrong with
// it is a *problem.
func (s *Store) put(ctx context.Context, t *table, change func(*entity.Config) (row, error)) (row, error) {
	var made row
	now, err := s.change(ctx, func(config entity.Config) (entity.Config, error) {
		var err error
		made, err = change(&config)
		return config, err
	})
	if err != nil {
		if p := refused(err, made); p != nil {
			return row{}, p
		}
		return row{}, err
	}
	stored, ok := t.find(&now.config, made.meta().ID)
	if !ok {
		return row{}, notFound()
	}
	return stored, nil
}
