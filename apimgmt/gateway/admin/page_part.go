package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/shell"
)

// part is an entity that is shown on the page of the one it belongs to: a key of a
// consumer, which never shows the key itself, or a target of an upstream.
type part struct {
	ID, Label string
	// Made and Counts are those of a key: since when and until when.
	Made   time.Time
	Counts string
	// Weight and Health are those of a target.
	Weight int
	Health string
}

// ownerKind is the kind of entity on whose page those of a kind are; empty for those
// that have lists of their own.
func ownerKind(kind entity.Kind) entity.Kind {
	switch kind {
	case entity.KindKey:
		return entity.KindConsumer
	case entity.KindTarget:
		return entity.KindUpstream
	}
	return ""
}

// back is the page, relative to the root of the pages, from which users come to a form about an entity,
// and to which they return.
func (t *table) back(e row) string {
	owner := ownerKind(t.kind)
	if owner == "" {
		return t.plural
	}
	plural := tableFor(owner).plural
	if ref := e.ref(owner); ref != nil && *ref != nil && (*ref).ID != "" {
		return plural + "/" + (*ref).ID
	}
	return plural
}

// entityParts lists what belongs to an entity, the newest keys first, and says what kind
// it is; the kind is empty if nothing can.
func (p *pages) entityParts(config *entity.Config, e row) (entity.Kind, []part) {
	var parts []part
	switch owner := e.entity.(type) {
	case *entity.Consumer:
		keys := slices.Clone(config.Keys)
		slices.SortStableFunc(keys, func(a, b entity.Key) int { return cmp.Compare(b.CreatedAt, a.CreatedAt) })
		for _, key := range keys {
			if key.Consumer != nil && key.Consumer.ID == owner.ID {
				made := part{ID: key.ID, Label: key.ID, Counts: countsText(key.TTL)}
				if key.CreatedAt != 0 {
					made.Made = time.Unix(key.CreatedAt, 0)
				}
				parts = append(parts, made)
			}
		}
		return entity.KindKey, parts
	case *entity.Upstream:
		for _, t := range p.store.upstreamHealth(config, owner) {
			parts = append(parts, part{ID: t.ID, Label: t.Target, Weight: t.Weight, Health: t.Health})
		}
		return entity.KindTarget, parts
	}
	return "", nil
}

func countsText(ttl int) string {
	if ttl == 0 {
		return "until it is revoked"
	}
	return "for " + (time.Duration(ttl) * time.Second).String()
}

// consequence reports what is lost with an entity.
func consequence(kind entity.Kind) string {
	switch kind {
	case entity.KindConsumer:
		return "The keys of the consumer and the plugins for it go with it."
	case entity.KindKey:
		return "Requests with this key are refused from then on."
	case entity.KindUpstream:
		return "Its targets go with it. A service that names it as host has nowhere to send requests to."
	case entity.KindTarget:
		return "It gets no more requests."
	case entity.KindPlugin:
		return "Requests pass without it."
	}
	return "The plugins on it go with it."
}

// keyView shows a new key, this once.
type keyView struct {
	frame
	Key, Back string
}

func (p *pages) showKey(w http.ResponseWriter, r *http.Request, config *entity.Config, key *entity.Key) error {
	t := tableFor(entity.KindConsumer)
	v := keyView{Key: key.Key, Back: tableFor(entity.KindKey).back(row{key})}
	trail := []shell.Crumb{gatewayCrumb(), {Name: upper(t.plural), Href: t.plural}}
	if owner, ok := t.find(config, key.Consumer.ID); ok {
		trail = append(trail, shell.Crumb{Name: owner.label(), Href: v.Back})
	}
	v.frame = p.frame(r, "New key", t.plural, trail...)
	return p.part.Show(w, r, http.StatusOK, "key.html", &v)
}
