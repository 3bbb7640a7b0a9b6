package round

import (
	"fmt"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// failuresAnyway is how many answers of one version may fail in any case before the
// version ends with fewer updates; ten times its size if that is more.
const failuresAnyway = 1000

// buffer collects the updates of a version. Its fields belong to the lock of the stream,
// but for those of fit, which do not change.
type buffer struct {
	fit
	attempt *audit.Attempt
	size    int // how many updates make the version
	y       *tally
	began   time.Time

	enough       bool            // whether there were as many clients as the job demands
	places       int             // that are taken, by updates that were added or are being added
	under        int             // answers that are being processed
	took         map[string]bool // the names of the clients that have answered
	contributors []*Client       // whose updates are part of the version
	suspended    int             // clients that were sent a model in spite of their suspension
	stale, most  int             // the sum, and the greatest, of the staleness of its updates
}

// hasRoom reports whether an answer can be processed. A failure needs no place.
func (b *buffer) hasRoom(failed bool) bool { return b != nil && (failed || b.places < b.size) }

// full reports whether the version has its updates.
func (b *buffer) full() bool { return b.under == 0 && len(b.contributors) >= b.size }

// exhausted reports whether so many answers failed that the version ends with fewer updates.
func (b *buffer) exhausted() bool {
	return b.under == 0 && b.y.failures() >= max(failuresAnyway, 10*b.size)
}

// settle records what became of an answer.
func (b *buffer) settle(c *Client, staleness int, failed bool, err error) {
	b.under--
	b.took[c.Name()] = true
	switch {
	case err == nil:
		b.contributors = append(b.contributors, c)
		b.stale += staleness
		b.most = max(b.most, staleness)
	case !failed: // the update was refused
		b.places--
	}
}

// close completes the numbers of the phase, with notes.
func (b *buffer) close() {
	y := b.y
	y.Phase.Clients = y.Phase.Results + y.Phase.Failures
	y.Phase.Seconds = time.Since(b.began).Seconds()
	y.noteFailures(strategy.Fit)
	if n := len(b.contributors); n < b.size {
		y.note(fmt.Sprintf("fit: the version has %d of %d updates, since no other client was left to train", n, b.size))
	}
	if b.suspended > 0 {
		y.note(fmt.Sprintf("fit: %d suspended clients took part, for there were too few others", b.suspended))
	}
}
