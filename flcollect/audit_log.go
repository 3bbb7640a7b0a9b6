package flcollect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/storage"
)

// The audit log of a job is a document a line, named by a digest of the job's id,
// which may hold anything, and by the number of the line. It belongs to the id: it
// goes on with every run, and nothing ever deletes or replaces a line. Without an
// audit log reports are kept beside the rounds, and go with them.
const (
	auditPrefix  = "audit/"
	reportPrefix = "report/"
	// auditPart is how many clients a line has at most: with every text at its
	// bound it is a third of what a document may have.
	auditPart = 500
	// auditPage is how many lines are read at a time.
	auditPage = 8
)

func auditOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return auditPrefix + hex.EncodeToString(sum[:16]) + "/"
}

func auditKey(id string, line int64) string { return fmt.Sprintf("%s%015d", auditOf(id), line) }

func reportsOf(token string) string { return reportPrefix + token + "/" }

func reportKey(token string, round, part int) string {
	return fmt.Sprintf("%s%07d/%07d", reportsOf(token), round, part)
}

// Audit yields the audit log of a job, a line as it is stored and without a line
// feed at a time, from the one after a number on. It ends with what there is. A job
// that is not known has none.
func (s *Server) Audit(ctx context.Context, id string, after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for after = max(after, 0); ; {
			docs, err := s.options.Documents.List(ctx, auditOf(id), auditKey(id, after), auditPage)
			if err != nil {
				yield(nil, fmt.Errorf("audit log of job %q after line %d: %w", id, after, err))
				return
			}
			for _, doc := range docs {
				if after++; !yield(doc.Data, nil) {
					return
				}
			}
			if len(docs) < auditPage {
				return
			}
		}
	}
}

// ledger writes the reports of a job, and its audit log. It belongs to one
// goroutine at a time.
type ledger struct {
	*job
	audits bool
	head   AuditRef // the last line
}

// openLedger finds the end of the log. What was cut off there shows: the next line
// goes on from the one that the job knows of.
func (t *training) openLedger(ctx context.Context) error {
	r := t.record()
	l := &ledger{job: t.job, audits: !t.server.options.NoAudit, head: r.Audit}
	t.ledger = l
	if !l.audits {
		return nil
	}
	err := t.server.insist(ctx, t.id, func() error {
		for {
			docs, err := t.server.options.Documents.List(ctx, auditOf(t.id), auditKey(t.id, l.head.Line), auditPage)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				var line AuditLine
				if err := json.Unmarshal(doc.Data, &line); err != nil {
					return fmt.Errorf("read %q: %w: %w", doc.Key, errDamaged, err)
				}
				l.head = refTo(line, doc.Data)
			}
			if len(docs) < auditPage {
				return nil
			}
		}
	})
	if err != nil {
		return stoppedOr(ctx, fmt.Errorf("find the end of the audit log: %w", err))
	}
	return nil
}

func refTo(line AuditLine, text []byte) AuditRef {
	sum := sha256.Sum256(text)
	return AuditRef{Line: line.Line, Lines: line.Part, SHA256: hex.EncodeToString(sum[:])}
}

// write stores an attempt, in as many lines as it needs.
func (l *ledger) write(ctx context.Context, whole AuditLine) error {
	r := l.record()
	whole.Job, whole.Run = l.id, r.Run
	entries := whole.Clients
	whole.Counts = countOutcomes(entries)
	whole.Parts = max(1, (len(entries)+auditPart-1)/auditPart)
	for whole.Part = 1; whole.Part <= whole.Parts; whole.Part++ {
		from := (whole.Part - 1) * auditPart
		whole.Clients = append([]ClientReport{}, entries[from:min(from+auditPart, len(entries))]...)
		if l.audits {
			whole.Line, whole.Previous = l.head.Line+1, l.head.SHA256
		}
		text, err := json.Marshal(whole)
		if err == nil {
			err = l.server.insist(ctx, l.id, func() error { return l.store(ctx, r.Token, whole, text) })
		}
		if err != nil {
			return stoppedOr(ctx, fmt.Errorf("store what became of the updates of round %d: %w", whole.Round, err))
		}
		if l.audits {
			l.head = refTo(whole, text)
		}
	}
	return nil
}

// store stores a line. One of the audit log is created, and never replaced.
func (l *ledger) store(ctx context.Context, token string, line AuditLine, text []byte) error {
	if !l.audits {
		return l.server.put(ctx, reportKey(token, line.Round, line.Part-1), text)
	}
	_, err := l.server.create(ctx, auditKey(l.id, line.Line), text)
	if errors.Is(err, storage.ErrExists) { // by somebody else, so no repetition helps
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	return err
}

// filing is an attempt that is being stored. Who starts it waits.
type filing struct {
	updates Updates
	late    []Quarantine  // updates that were refused at the end of the round
	done    chan struct{} // closed once err is set
	err     error
}

// startFiling begins to store what became of the updates of a round, and of the
// reputations of its clients; both before the round counts.
func (t *training) startFiling(a *attempt, result strategy.Model) *filing {
	f := &filing{done: make(chan struct{})}
	line := AuditLine{Round: a.round, Time: now(), Aggregated: result != nil, Clients: a.entries(t.strategy)}
	f.updates = updatesOf(line.Clients)
	for _, e := range line.Clients {
		if e.late && len(f.late) < MaxQuarantined {
			f.late = append(f.late, Quarantine{Round: a.round, Client: e.Session, Reason: e.Reason})
		}
	}
	suspended := 0
	if !t.server.options.TrustClients {
		suspended = t.reputations.judge(a.round, line.Clients)
	}
	t.server.countVerdicts(f.updates.Counts, suspended)
	ctx := t.life // a training that is stopped now leaves its trace all the same
	go func() {
		defer close(f.done)
		if line.Model = a.sent(); t.ledger.audits {
			line.Result = line.Model
			if result != nil {
				line.Result = Digest(t.encode(result))
			}
			t.digest = line.Result
		}
		if f.err = t.ledger.write(ctx, line); f.err != nil {
			return
		}
		f.err = t.server.insist(ctx, t.id, func() error {
			return t.server.storeReputations(ctx, t.record().Token, a.round, t.reputations)
		})
	}()
	return f
}

// countVerdicts adds to the totals.
func (s *Server) countVerdicts(updates Counts, suspended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totals.Clipped += int64(updates.Clipped)
	s.totals.Far += int64(updates.Far)
	s.totals.Converted += int64(updates.Converted)
	s.totals.Suspensions += int64(suspended)
}

// wait returns once all is durable, or why it is not.
func (f *filing) wait() error {
	<-f.done
	return f.err
}

// fileBroken stores an attempt that was broken off, also when the training was
// stopped.
func (t *training) fileBroken(reason error) {
	a := t.attempt
	if a == nil || !t.ledger.audits {
		return
	}
	line := AuditLine{Round: a.round, Time: now(), Error: short(reason.Error(), maxReason), Model: a.sent(), Clients: a.entries(t.strategy)}
	line.Result = line.Model
	if err := t.ledger.write(t.life, line); err != nil && t.life.Err() == nil {
		t.log.Error("an attempt is not in the audit log", "round", a.round, "error", err)
	}
}
