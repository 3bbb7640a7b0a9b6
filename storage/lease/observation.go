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
