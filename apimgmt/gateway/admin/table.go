package admin

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// table is the entities of a kind, whichever it is.
type table struct {
	kind entity.Kind
	// plural is what the API calls them, schema what Kong's errors and schemas do.
	plural, schema string

	// rows lists the entities of a configuration; the rows lead into it.
	rows func(*entity.Config) iter.Seq[row]
	// blank creates an entity of the kind.
	blank func() row
	// add appends a copy of an entity.
	add func(*entity.Config, row)
	// remove deletes an entity by its id.
	remove func(*entity.Config, string)
}

// row is one entity: a pointer to a structure of package entity.
type row struct{ entity any }

func newTable[E any](kind entity.Kind, plural, schema string, list func(*entity.Config) *[]E) *table {
	return &table{
		kind: kind, plural: plural, schema: schema,
		rows: func(c *entity.Config) iter.Seq[row] {
			return func(yield func(row) bool) {
				all := *list(c)
				for i := range all {
					if !yield(row{&all[i]}) {
						return
					}
				}
			}
		},
		blank: func() row { return row{new(E)} },
		add:   func(c *entity.Config, r row) { *list(c) = append(*list(c), *r.entity.(*E)) },
		remove: func(c *entity.Config, id string) {
			*list(c) = slices.DeleteFunc(*list(c), func(e E) bool { return row{&e}.meta().ID == id })
		},
	}
}

// tables lists all kinds, in the order in which entities may refer to each other.
func tables() []*table {
	return []*table{
		newTable(entity.KindService, "services", "services", func(c *entity.Config) *[]entity.Service { return &c.Services }),
		newTable(entity.KindRoute, "routes", "routes", func(c *entity.Config) *[]entity.Route { return &c.Routes }),
		newTable(entity.KindConsumer, "consumers", "consumers", func(c *entity.Config) *[]entity.Consumer { return &c.Consumers }),
		newTable(entity.KindPlugin, "plugins", "plugins", func(c *entity.Config) *[]entity.Plugin { return &c.Plugins }),
		newTable(entity.KindKey, "key-auths", "keyauth_credentials", func(c *entity.Config) *[]entity.Key { return &c.Keys }),
		newTable(entity.KindUpstream, "upstreams", "upstreams", func(c *entity.Config) *[]entity.Upstream { return &c.Upstreams }),
		newTable(entity.KindTarget, "targets", "targets", func(c *entity.Config) *[]entity.Target { return &c.Targets }),
	}
}

// tableFor is the table of a kind.
func tableFor(kind entity.Kind) *table {
	all := tables()
	return all[slices.IndexFunc(all, func(t *table) bool { return t.kind == kind })]
}

// find returns the entity with an id or a name. An id comes first.
func (t *table) find(c *entity.Config, key string) (row, bool) {
	var named row
	for r := range t.rows(c) {
		switch {
		case strings.EqualFold(r.meta().ID, key):
			return r, true
		case named.entity == nil && key != "" && r.name() == key:
			named = r
		}
	}
	return named, named.entity != nil
}

func (r row) meta() *entity.Meta {
	switch e := r.entity.(type) {
	case *entity.Service:
		return &e.Meta
	case *entity.Route:
		return &e.Meta
	case *entity.Consumer:
		return &e.Meta
	case *entity.Plugin:
		return &e.Meta
	case *entity.Key:
		return &e.Meta
	case *entity.Upstream:
		return &e.Meta
	default:
		return &r.entity.(*entity.Target).Meta
	}
}

// name is what an entity can be found by besides its id; empty if there is nothing.
func (r row) name() string {
	switch e := r.entity.(type) {
	case *entity.Service:
		return e.Name
	case *entity.Route:
		return e.Name
	case *entity.Consumer:
		return e.Username
	case *entity.Plugin:
		return e.InstanceName
	case *entity.Key:
		return e.Key
	case *entity.Upstream:
		return e.Name
	default:
		return r.entity.(*entity.Target).Target
	}
}

// setName gives an entity the name that its address in the API says.
func (r row) setName(name string) {
	switch e := r.entity.(type) {
	case *entity.Service:
		e.Name = name
	case *entity.Route:
		e.Name = name
	case *entity.Consumer:
		e.Username = name
	case *entity.Plugin:
		e.InstanceName = name
	case *entity.Key:
		e.Key = name
	case *entity.Upstream:
		e.Name = name
	case *entity.Target:
		e.Target = name
	}
}

// label is the name of an entity on pages.
func (r row) label() string {
	switch e := r.entity.(type) {
	case *entity.Plugin:
		return cmp.Or(e.InstanceName, e.Name)
	case *entity.Consumer:
		return cmp.Or(e.Username, e.CustomID)
	case *entity.Key:
		return e.ID
	}
	return cmp.Or(r.name(), r.meta().ID)
}

// ref returns the field that refers to an entity of a kind; nil if none exists.
func (r row) ref(kind entity.Kind) **entity.Ref {
	switch e := r.entity.(type) {
	case *entity.Route:
		if kind == entity.KindService {
			return &e.Service
		}
	case *entity.Plugin:
		switch kind {
		case entity.KindService:
			return &e.Service
		case entity.KindRoute:
			return &e.Route
		case entity.KindConsumer:
			return &e.Consumer
		}
	case *entity.Key:
		if kind == entity.KindConsumer {
			return &e.Consumer
		}
	case *entity.Target:
		if kind == entity.KindUpstream {
			return &e.Upstream
		}
	}
	return nil
}

// refersTo reports whether an entity refers to another one of a kind.
func (r row) refersTo(kind entity.Kind, id string) bool {
	ref := r.ref(kind)
	return ref != nil && *ref != nil && (*ref).ID == id
}
