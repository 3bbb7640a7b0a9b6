package lease

import (
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Observation is a document of another process as it was last read. Its age is measured with
// the clock of this process alone, from the first time that its revision was read. The zero
// value has observed nothing. It belongs to one goroutine.
type Observation struct {
	revision storage.Revision
	since    time.Time
}

// Unchanged records that the document was just read at the revision. It returns for how long
// it has been read at that one.
func (o *Observation) Unchanged(revision storage.Revision) time.Duration {
	if o.revision != revision {
		o.revision, o.since = revision, time.Now()
	}
	return time.Since(o.since)
}

// Observations are what looks at a store have found, such as marks that another process should
// have removed, or blobs that no document names. For how long something is there is counted by
// the clock of this process alone, from the first look that has found it: other machines may
// have set the times that are stored. The zero value has found nothing. It belongs to one
// goroutine.
type Observations struct{ found map[string]Observation }

// Unchanged returns for how long each look has found the key at the revision, 0 at first. The
// revision of what has none is 0.
type Unchanged func(key string, revision storage.Revision) time.Duration

// Look looks once with a function, which calls unchanged with each key that it finds. A look that
// fails does not count.
func (o *Observations) Look(look func(unchanged Unchanged) error) error {
	found := map[string]Observation{}
	err := look(func(key string, revision storage.Revision) time.Duration {
		seen, known := o.found[key]
		if !known || seen.revision != revision {
			seen = Observation{revision, time.Now()}
		}
		found[key] = seen
		return time.Since(seen.since)
	})
	if err == nil {
		o.found = found
	}
	return err
}
