package flcollect_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// board has jobs whose course a test writes by hand. It stands in for a Server
// where a test is about what a Server seldom does.
type board struct {
	mu      sync.Mutex
	err     error // what every method returns
	jobs    map[string]flcollect.Status
	rounds  map[string][]flcollect.Round
	reports map[string]flcollect.RoundReport
	lines   []string // of every audit log
	changed map[string]chan struct{}
	result  flcollect.Result
	totals  flcollect.Totals
	started map[string]flcollect.JobConfig
	stops   int
	stopped []string
	clients []flcollect.Client
	asked   int                                           // for rounds
	runs    func(before int64, limit int) []flcollect.Run // nil for none
}

func newBoard() *board {
	return &board{
		jobs:    map[string]flcollect.Status{},
		rounds:  map[string][]flcollect.Round{},
		reports: map[string]flcollect.RoundReport{},
		changed: map[string]chan struct{}{},
		started: map[string]flcollect.JobConfig{},
	}
}

// job sets a status, and forgets the rounds of another run.
func (b *board) job(status flcollect.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs[status.Job].Run != status.Run {
		b.rounds[status.Job] = nil
	}
	b.jobs[status.Job] = status
	b.wake(status.Job)
}

// round ends rounds of a job.
func (b *board) round(id string, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	status := b.jobs[id]
	for range count {
		status.Round = len(b.rounds[id]) + 1
		loss := 1 / float64(status.Round)
		b.rounds[id] = append(b.rounds[id], flcollect.Round{Number: status.Round, Loss: &loss, Aggregated: true})
	}
	b.jobs[id] = status
	b.wake(id)
}

func (b *board) wake(id string) {
	if changed := b.changed[id]; changed != nil {
		close(changed)
	}
	b.changed[id] = nil
}

func (b *board) questions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

func (b *board) Start(_ context.Context, id string, config flcollect.JobConfig) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.started[id] = config
	}
	return b.err
}

func (b *board) Stop(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops++
	return b.err
}

func (b *board) StopJob(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = append(b.stopped, id)
	if _, ok := b.jobs[id]; !ok {
		return errors.Join(b.err, flcollect.ErrUnknown)
	}
	return b.err
}

func (b *board) Clients(string) []flcollect.Client { return b.clients }

func (b *board) Strategies() []strategy.Description {
	fedAdam, _ := strategy.Describe("FedAdam")
	avg, _ := strategy.Describe("avg")
	return []strategy.Description{fedAdam, avg, {Name: "own"}}
}

func (b *board) Status(_ context.Context, id string) (flcollect.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if status, ok := b.jobs[id]; ok {
		return status, b.err
	}
	return flcollect.Status{Job: id, State: flcollect.Inactive}, b.err
}

func (b *board) Jobs(_ context.Context, _, after string, limit int) ([]flcollect.Status, string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var found []flcollect.Status
	for id, status := range b.jobs {
		if id > after {
			found = append(found, status)
		}
	}
	slices.SortFunc(found, func(x, y flcollect.Status) int { return slices.Compare([]byte(x.Job), []byte(y.Job)) })
	if len(found) > limit {
		return found[:limit], found[limit-1].Job, b.err
	}
	return found, "", b.err
}

func (b *board) Rounds(_ context.Context, id string, after, limit int) ([]flcollect.Round, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	all := b.rounds[id]
	all = all[min(after, len(all)):]
	return slices.Clone(all[:min(limit, len(all))]), b.err
}

func (b *board) Report(_ context.Context, id string, round, after, limit int) (flcollect.RoundReport, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	report, ok := b.reports[id]
	if !ok || report.Round != round {
		return flcollect.RoundReport{}, errors.Join(b.err, flcollect.ErrNoReport)
	}
	clients := report.Clients[min(after, len(report.Clients)):]
	report.Clients = clients[:min(limit, len(clients))]
	return report, b.err
}

func (b *board) Audit(_ context.Context, _ string, after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range b.lines[min(int(after), len(b.lines)):] {
			if !yield([]byte(line), nil) {
				return
			}
		}
		if b.err != nil {
			yield(nil, b.err)
		}
	}
}

func (b *board) Changed(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed[id] == nil {
		b.changed[id] = make(chan struct{})
	}
	return b.changed[id]
}

func (b *board) Runs(_ context.Context, id string, before int64, limit int) ([]flcollect.Run, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs == nil {
		return nil, b.err
	}
	return b.runs(before, limit), b.err
}

func (b *board) Result(context.Context, string) (flcollect.Result, error) { return b.result, b.err }

func (b *board) PublicContext(context.Context, string) (io.ReadSeekCloser, flcollect.PublicContext, error) {
	return nil, flcollect.PublicContext{}, cmp.Or(b.err, flcollect.ErrNoContext)
}

func (b *board) SetPublicContext(context.Context, string, io.Reader, flcollect.Condition) (flcollect.PublicContext, error) {
	return flcollect.PublicContext{}, b.err
}

func (b *board) DeletePublicContext(context.Context, string, flcollect.Condition) error { return b.err }

func (b *board) Ready() error { return b.err }

func (b *board) Totals() flcollect.Totals { return b.totals }

// failsLate is a board whose audit log fails at its end only.
type failsLate struct{ *board }

func (f *failsLate) Audit(ctx context.Context, id string, after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range f.board.Audit(ctx, id, after) {
			if !yield(line, err) {
				return
			}
		}
		yield(nil, errors.New("the store is dead"))
	}
}
