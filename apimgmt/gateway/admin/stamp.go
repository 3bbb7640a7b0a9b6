package admin

import (
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// identity is what an entity is known by.
type identity struct {
	kind entity.Kind
	id   string
}

// stamp says of every entity of next when it was created and last changed: what is
// as it was keeps its times. Both configurations are normalised, and changes leads
// from one to the other.
func stamp(next *entity.Config, before entity.Config, changes []entity.Change, now time.Time) {
	changed := make(map[identity]bool, len(changes))
	for _, change := range changes {
		changed[identity{change.Kind, change.ID}] = true
	}
	times := map[identity]entity.Meta{}
	for _, t := range tables() {
		for r := range t.rows(&before) {
			times[identity{t.kind, r.meta().ID}] = *r.meta()
		}
	}
	for _, t := range tables() {
		for r := range t.rows(next) {
			meta := r.meta()
			id := identity{t.kind, meta.ID}
			old, known := times[id]
			if !known {
				old.CreatedAt = now.Unix()
			}
			meta.CreatedAt, meta.UpdatedAt = old.CreatedAt, old.UpdatedAt
			if !known || changed[id] {
				meta.UpdatedAt = now.Unix()
			}
		}
	}
}
