package plugin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/iotenablers/enablers/internal/notify"
	"github.com/iotenablers/enablers/storage"
)

// share is what a tally has besides where its counts are shared. The counter's lock holds for
// what is not marked.
type share struct {
	unsent [len(periods)]int64 // counted here, and not yet stored, by limit
	left   [len(periods)]int64 // when it was last exchanged, by limit
	queued int8                // notQueued and so on

	// Of the exchange alone.
	key      string
	revision storage.Revision // 0 if nothing was read yet
	stored   countsDocument
	pending  pendingWrite
	// contended reports whether another gateway counts the caller as well: what was written last is
	// then most probably replaced, and reading first saves a write that is refused.
	contended bool
}

// pendingWrite is a write whose outcome is not known. Its mark is empty if none exists.
type pendingWrite struct {
	mark         string
	begins, sent [len(periods)]int64
}

const (
	notQueued int8 = iota
	queued
	queuedUrgent
)

// countsDocument is how the counts of one caller of one plugin are stored.
type countsDocument struct {
	Windows []countedWindow `json:"windows"`
	// Mark is the mark of the last writer, which may not have got the answer.
	Mark string `json:"mark"`
}

// countedWindow is the count in the last window of a length.
type countedWindow struct {
	Period string `json:"period"`
	Begin  int64  `json:"begin"` // seconds since 1970
	Count  int64  `json:"count"`
}

// isOver reports whether all windows of a document are over, and were so a day ago: the clocks
// of gateways differ.
func isOver(data []byte, now time.Time) bool {
	var d countsDocument
	if json.Unmarshal(data, &d) != nil {
		return true // the next exchange begins anew
	}
	for _, w := range d.Windows {
		period := slices.IndexFunc(periods[:], func(p periodNames) bool { return p.name == w.Period })
		if period < 0 {
			return false // of a later version
		}
		if _, end := (limit{period: period}).window(time.Unix(w.Begin, 0)); now.Before(time.Unix(end, 0).Add(24 * time.Hour)) {
			return false
		}
	}
	return true
}

// countsKey names the document of a caller of a plugin. It does not contain the caller.
func countsKey(plugin, client string) string {
	sum := sha256.Sum256([]byte(plugin + "\x00" + client))
	return plugin + "/" + hex.EncodeToString(sum[:16])
}

// isShared reports whether the window is long enough to share its counts: an exchange takes
// much of a second, and there would be one for nearly each request.
func (l limit) isShared() bool { return l.period > 0 }

// note has the counts of a tally exchanged: at once if a limit is close. The caller holds the
// lock of the part.
func (c *counter) note(p *counterPart, t *tally) {
	s, state := t.share, queued
	for i, l := range c.limits {
		if !l.isShared() {
			continue
		}
		if s.unsent[i]++; s.unsent[i]*4 >= s.left[i] {
			state = queuedUrgent
		}
	}
	if s.queued >= state || len(p.urgent)+len(p.dirty) >= 4*c.most {
		return // if there are too many, the next request tries again
	}
	s.queued = state
	if state == queuedUrgent {
		p.urgent = append(p.urgent, t)
		notify.Send(c.shared.wake)
	} else {
		p.dirty = append(p.dirty, t)
	}
}

// job is an exchange that is due.
type job struct {
	counter *counter
	part    *counterPart
	tally   *tally
}

// due appends the exchanges that are due.
func (c *counter) due(to []job, all bool) []job {
	for i := range c.parts {
		p := &c.parts[i]
		p.mu.Lock()
		take := func(list *[]*tally) {
			for _, t := range *list {
				if t.share.queued != notQueued { // or it is in both lists
					t.share.queued = notQueued
					to = append(to, job{c, p, t})
				}
			}
			clear(*list)
			*list = (*list)[:0]
		}
		take(&p.urgent)
		if all {
			take(&p.dirty)
		}
		p.mu.Unlock()
	}
	return to
}

// postpone has an exchange made with the next regular one.
func (j job) postpone() {
	j.part.mu.Lock()
	defer j.part.mu.Unlock()
	if j.tally.share.queued == notQueued && len(j.part.dirty) < 4*j.counter.most {
		j.tally.share.queued = queued
		j.part.dirty = append(j.part.dirty, j.tally)
	}
}

// run adds what was counted to the document, and takes over what others have added. If it
// fails, that is tried again with the next regular exchange.
func (j job) run(ctx context.Context, counts *Counts) (outcome int, err error) {
	err = storage.Retry(ctx, func() (again bool, err error) {
		outcome, err = j.try(ctx, counts)
		return errors.Is(err, errLost), err
	})
	if err != nil {
		j.postpone()
	}
	return outcome, err
}

// try is run, and returns errLost if it has to be tried again at once.
func (j job) try(ctx context.Context, counts *Counts) (outcome int, err error) {
	s := j.tally.share
	if err := s.read(ctx, counts); err != nil {
		return exchangeFailed, err
	}
	if s.pending.mark != "" && s.pending.mark == s.stored.Mark {
		was := s.pending
		s.pending = pendingWrite{}
		j.learn(s.stored, was.begins, was.sent)
	}
	j.part.mu.Lock()
	begins, sent := j.tally.begins, s.unsent
	j.part.mu.Unlock()
	switch {
	case s.pending.mark == "" && sent == [len(periods)]int64{}:
		return exchanged, nil // it became urgent after it was due, and is exchanged already
	case s.revision == 0 && !counts.hasRoom(j.counter.plugin):
		j.learn(countsDocument{}, begins, [len(periods)]int64{}) // so that it is not urgent at once
		return exchangeRefused, nil
	}
	// What may have been stored, before another gateway has written, is added as well: a limit
	// is then reached too early, and never late.
	next := j.counter.merge(s.stored, begins, sent)
	next.Mark = rand.Text()
	s.pending = pendingWrite{next.Mark, begins, sent}
	created := s.revision == 0
	if err := s.write(ctx, counts.config.Documents, next); err != nil {
		return exchangeFailed, err
	}
	if created {
		counts.created(j.counter.plugin)
	}
	s.pending = pendingWrite{}
	j.learn(next, begins, sent)
	return exchanged, nil
}

// errLost means that another gateway has written meanwhile.
var errLost = errors.New("plugin: counts were changed meanwhile")

// read reads the document, unless what was read or written last may still be there. A document
// that is damaged counts as none.
func (s *share) read(ctx context.Context, counts *Counts) error {
	if s.revision != 0 && s.pending.mark == "" && !s.contended {
		return nil
	}
	doc, err := counts.config.Documents.Get(ctx, s.key)
	if errors.Is(err, storage.ErrNotFound) {
		s.revision, s.stored = 0, countsDocument{}
		return nil
	}
	if err != nil {
		return err
	}
	if doc.Revision == s.revision {
		s.contended = false
	}
	s.revision, s.stored = doc.Revision, countsDocument{}
	if err := json.Unmarshal(doc.Data, &s.stored); err != nil {
		s.stored = countsDocument{}
		counts.config.Logger.Warn("counts of a rate limit cannot be read, and begin anew", "key", s.key, "error", err)
	}
	return nil
}

// write replaces the document that was read.
func (s *share) write(ctx context.Context, docs storage.Documents, next countsDocument) error {
	data, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("write counts: %w", err)
	}
	var revision storage.Revision
	if s.revision == 0 {
		revision, err = docs.Create(ctx, s.key, data)
	} else {
		revision, err = docs.Update(ctx, s.key, s.revision, data)
	}
	switch {
	case err == nil:
		s.revision, s.stored = revision, next
		return nil
	case storage.Overtaken(err):
		s.revision, s.pending, s.contended = 0, pendingWrite{}, true // nothing was written
		return errLost
	}
	return err
}

// merge returns what is stored with what was counted in windows since. Windows of other lengths
// stay. A window that is over at another gateway counts no more.
func (c *counter) merge(stored countsDocument, begins, sent [len(periods)]int64) countsDocument {
	next := countsDocument{Windows: slices.Clone(stored.Windows)}
	for i, l := range c.limits {
		if !l.isShared() {
			continue
		}
		at := slices.IndexFunc(next.Windows, func(w countedWindow) bool { return w.Period == l.name() })
		if at < 0 {
			next.Windows = append(next.Windows, countedWindow{Period: l.name()})
			at = len(next.Windows) - 1
		}
		switch w := &next.Windows[at]; {
		case w.Begin < begins[i]:
			w.Begin, w.Count = begins[i], sent[i]
		case w.Begin == begins[i]:
			w.Count += sent[i]
		}
	}
	return next
}

// learn takes over the counts of all gateways.
func (j job) learn(now countsDocument, begins, sent [len(periods)]int64) {
	j.part.mu.Lock()
	defer j.part.mu.Unlock()
	t := j.tally
	for i, l := range j.counter.limits {
		if t.begins[i] != begins[i] {
			continue // a window has begun meanwhile, and nothing of it was sent
		}
		t.share.unsent[i] -= sent[i]
		t.share.left[i] = l.most
		for _, w := range now.Windows {
			if w.Period == l.name() && w.Begin == begins[i] {
				t.counts[i] = w.Count + t.share.unsent[i]
				t.share.left[i] = max(0, l.most-w.Count)
			}
		}
	}
}
