package audit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/storage"
)

// The audit log of a job is a document a line, named by a digest of the job's id, which
// may be any text, and by the number of the line. It belongs to the id: it goes on with
// every run, and no line is ever deleted or replaced. Without an audit log, reports are
// stored beside the rounds and deleted with them.
const (
	// partSize is how many clients a line has at most: with every text at its bound
	// that is a third of what a document may hold.
	partSize = 500
	// pageSize is how many lines are read at a time.
	pageSize = 8
)

func logFolder(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "audit/" + hex.EncodeToString(sum[:16]) + "/"
}

func lineKey(id string, line int64) string { return fmt.Sprintf("%s%015d", logFolder(id), line) }

// Folder returns the prefix of the keys of a run's reports that are not part of an audit
// log.
func Folder(token string) string { return "report/" + token + "/" }

func reportKey(token string, round, part int) string {
	return fmt.Sprintf("%s%07d/%07d", Folder(token), round, part)
}

// Lines yields the audit log of a job, a line at a time as it is stored and without a
// line feed, from the one after a number. A job that is not known has no lines.
func Lines(ctx context.Context, documents storage.Documents, id string, after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for after = max(after, 0); ; {
			docs, err := documents.List(ctx, logFolder(id), lineKey(id, after), pageSize)
			if err != nil {
				yield(nil, fmt.Errorf("audit log of job %q after line %d: %w", id, after, err))
				return
			}
			for _, doc := range docs {
				if after++; !yield(doc.Data, nil) {
					return
				}
			}
			if len(docs) < pageSize {
				return
			}
		}
	}
}

// Run identifies the run of a job.
type Run struct {
	Job   string
	Run   int64
	Token string
	// Shared says that the job may come from another server, which may have written a line
	// that it could not record.
	Shared bool
}

// Log writes the reports of a run, and the audit log of its job. It belongs to one
// goroutine at a time.
type Log struct {
	store   persist.Store
	run     Run
	chained bool
	head    report.AuditRef // the last line
}

// OpenLog returns the log of a run. Chained has it write an audit log, of whose lines
// the job has recorded the last: where lines are missing there, the next line shows it.
func OpenLog(ctx context.Context, store persist.Store, run Run, recorded report.AuditRef, chained bool) (*Log, error) {
	l := &Log{store: store, run: run, chained: chained, head: recorded}
	if !chained {
		return l, nil
	}
	if err := l.findEnd(ctx); err != nil {
		return nil, persist.StoppedOr(ctx, fmt.Errorf("find the end of the audit log: %w", err))
	}
	return l, nil
}

// findEnd goes on to the last line.
func (l *Log) findEnd(ctx context.Context) error {
	return l.store.Insist(ctx, func() error {
		for {
			docs, err := l.store.Documents.List(ctx, logFolder(l.run.Job), lineKey(l.run.Job, l.head.Line), pageSize)
			if err != nil {
				return err
			}
			for _, doc := range docs {
				var line report.AuditLine
				if err := json.Unmarshal(doc.Data, &line); err != nil {
					return fmt.Errorf("read %q: %w: %w", doc.Key, persist.ErrDamaged, err)
				}
				l.head = line.Ref(doc.Data)
			}
			if len(docs) < pageSize {
				return nil
			}
		}
	})
}

// Chained reports whether the log is an audit log.
func (l *Log) Chained() bool { return l.chained }

// Head returns the last line of the audit log.
func (l *Log) Head() report.AuditRef { return l.head }

// Write stores an attempt, in as many lines as it needs.
func (l *Log) Write(ctx context.Context, whole report.AuditLine) error {
	whole.Job, whole.Run = l.run.Job, l.run.Run
	clients := whole.Clients
	whole.Counts = report.CountOutcomes(clients)
	whole.Parts = max(1, (len(clients)+partSize-1)/partSize)
	for whole.Part = 1; whole.Part <= whole.Parts; whole.Part++ {
		from := (whole.Part - 1) * partSize
		whole.Clients = append([]report.Client{}, clients[from:min(from+partSize, len(clients))]...)
		text, err := l.append(ctx, &whole)
		if err != nil {
			return persist.StoppedOr(ctx, fmt.Errorf("store what became of the updates of round %d: %w", whole.Round, err))
		}
		if l.chained {
			l.head = whole.Ref(text)
		}
	}
	return nil
}

// append stores a line after the last one. Where the server before this one has written a
// line in the meantime, it is the last.
func (l *Log) append(ctx context.Context, line *report.AuditLine) (text []byte, err error) {
	err = storage.Retry(ctx, func() (again bool, err error) {
		before := l.head
		if l.chained {
			line.Line, line.Previous = l.head.Line+1, l.head.SHA256
		}
		if text, err = json.Marshal(line); err != nil {
			return false, err
		}
		err = l.store.Insist(ctx, func() error { return l.put(ctx, *line, text) })
		if !errors.Is(err, storage.ErrConflict) || !l.chained || !l.run.Shared {
			return false, err
		}
		if err := l.findEnd(ctx); err != nil || l.head == before {
			return false, cmp.Or(err, storage.ErrConflict)
		}
		return true, nil
	})
	return text, err
}

// put stores a line. A line of the audit log is created, and never replaced.
func (l *Log) put(ctx context.Context, line report.AuditLine, text []byte) error {
	if !l.chained {
		return l.store.Put(ctx, reportKey(l.run.Token, line.Round, line.Part-1), text)
	}
	_, err := l.store.Create(ctx, lineKey(l.run.Job, line.Line), text)
	if errors.Is(err, storage.ErrExists) { // with other data, so no repetition helps
		err = fmt.Errorf("%w: %w", storage.ErrConflict, err)
	}
	return err
}
