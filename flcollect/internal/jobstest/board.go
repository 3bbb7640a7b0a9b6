package jobstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
)

// Board has jobs whose course a test writes by hand. It stands in for a Server where a
// test is about what a Server seldom does. Make one with [NewBoard].
type Board struct {
	// Err is what every method returns.
	Err error
	// Reports are by their jobs, Lines are those of every audit log.
	Reports map[string]report.RoundReport
	Lines   []string
	// Model, Connected and Numbers are what Result, Clients and Totals return.
	Model     flcollect.Result
	Connected []flcollect.Client
	Numbers   flcollect.Totals
	// Started are the configurations by their jobs, Stops counts the calls of Stop, and
	// Stopped are the jobs of those of StopJob.
	Started map[string]jobconfig.Config
	Stops   int
	Stopped []string

	mu      sync.Mutex
	jobs    map[string]flcollect.Status
	rounds  map[string][]report.Round
	changed map[string]chan struct{}
	asked   int // for rounds
}

// NewBoard returns a board without jobs.
func NewBoard() *Board {
	return &Board{
		jobs:    map[string]flcollect.Status{},
		rounds:  map[string][]report.Round{},
		Reports: map[string]report.RoundReport{},
		changed: map[string]chan struct{}{},
		Started: map[string]jobconfig.Config{},
	}
}

// Reported is a board with a job whose last round has a report.
func Reported(clients int) *Board {
	b := NewBoard()
	b.Job(flcollect.Status{Job: "a", Run: 3, State: report.Training, Config: jobconfig.Config{Rounds: 5}})
	b.Round("a", 2)
	norm, bound := 20.0, 10.0
	whole := report.RoundReport{Job: "a", Run: 3, Round: 2, Aggregated: true, Counts: report.Counts{Kept: clients - 1, Clipped: 1}}
	for i := range clients {
		whole.Clients = append(whole.Clients, report.Client{
			Client: fmt.Sprintf("name:%05d", i), Session: "s", Examples: 10, Outcome: report.Kept, Norm: &norm,
		})
	}
	whole.Clients[0] = report.Client{
		Client: "name:<b>", Session: "ipv4:1.2.3.4:5", Examples: 12, Outcome: report.Clipped, Norm: &norm, Bound: &bound,
		Reason: "its norm is 20", Reputation: &report.Reputation{Score: 1.25, Until: 4},
	}
	b.Reports["a"] = whole
	return b
}

// Job sets a status, and forgets the rounds of another run.
func (b *Board) Job(status flcollect.Status) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.jobs[status.Job].Run != status.Run {
		b.rounds[status.Job] = nil
	}
	b.jobs[status.Job] = status
	b.wake(status.Job)
}

// Round ends rounds of a job.
func (b *Board) Round(id string, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	status := b.jobs[id]
	for range count {
		status.Round = len(b.rounds[id]) + 1
		loss := 1 / float64(status.Round)
		b.rounds[id] = append(b.rounds[id], report.Round{Number: status.Round, Loss: &loss, Aggregated: true})
	}
	b.jobs[id] = status
	b.wake(id)
}

func (b *Board) wake(id string) {
	if changed := b.changed[id]; changed != nil {
		close(changed)
	}
	b.changed[id] = nil
}

// Fail has every method return an error from now on, and wakes whatever waits for a job.
func (b *Board) Fail(id string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Err = err
	b.wake(id)
}

// Questions is how many times rounds were asked for.
func (b *Board) Questions() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.asked
}

// Start notes the configuration.
func (b *Board) Start(_ context.Context, id string, config jobconfig.Config) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Err == nil {
		b.Started[id] = config
	}
	return b.Err
}

// Stop counts its calls.
func (b *Board) Stop(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Stops++
	return b.Err
}

// StopJob notes the job.
func (b *Board) StopJob(_ context.Context, id string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Stopped = append(b.Stopped, id)
	if _, ok := b.jobs[id]; !ok {
		return errors.Join(b.Err, flcollect.ErrUnknown)
	}
	return b.Err
}

// Clients returns those that are connected.
func (b *Board) Clients(string) []flcollect.Client { return b.Connected }

// Strategies describes FedAdam, avg and a strategy "own".
func (b *Board) Strategies() []strategy.Description {
	fedAdam, _ := strategy.Describe("FedAdam")
	avg, _ := strategy.Describe("avg")
	return []strategy.Description{fedAdam, avg, {Name: "own"}}
}

// Status returns the last status of a job.
func (b *Board) Status(_ context.Context, id string) (flcollect.Status, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if status, ok := b.jobs[id]; ok {
		return status, b.Err
	}
	return flcollect.Status{Job: id, State: report.Inactive}, b.Err
}

// Jobs returns jobs in the order of their ids.
func (b *Board) Jobs(_ context.Context, _, after string, limit int) ([]flcollect.Status, string, error) {
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
		return found[:limit], found[limit-1].Job, b.Err
	}
	return found, "", b.Err
}

// Rounds returns rounds of a job.
func (b *Board) Rounds(_ context.Context, id string, after, limit int) ([]report.Round, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	all := b.rounds[id]
	all = all[min(after, len(all)):]
	return slices.Clone(all[:min(limit, len(all))]), b.Err
}

// Report returns a page of the report of a job.
func (b *Board) Report(_ context.Context, id string, round, after, limit int) (report.RoundReport, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	page, ok := b.Reports[id]
	if !ok || page.Round != round {
		return report.RoundReport{}, errors.Join(b.Err, report.ErrNoReport)
	}
	clients := page.Clients[min(after, len(page.Clients)):]
	page.Clients = clients[:min(limit, len(clients))]
	return page, b.Err
}

// Audit yields the lines, and then the error.
func (b *Board) Audit(_ context.Context, _ string, after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for _, line := range b.Lines[min(int(after), len(b.Lines)):] {
			if !yield([]byte(line), nil) {
				return
			}
		}
		if b.Err != nil {
			yield(nil, b.Err)
		}
	}
}

// Changed returns a channel that is closed when the job changes.
func (b *Board) Changed(id string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed[id] == nil {
		b.changed[id] = make(chan struct{})
	}
	return b.changed[id]
}

// Runs returns no run.
func (b *Board) Runs(context.Context, string, int64, int) ([]flcollect.Run, error) {
	return nil, b.Err
}

// Result returns the model.
func (b *Board) Result(context.Context, string) (flcollect.Result, error) { return b.Model, b.Err }

// PublicContext returns the error, publiccontext.ErrNotFound unless there is another.
func (b *Board) PublicContext(context.Context, string) (io.ReadSeekCloser, publiccontext.Info, error) {
	return nil, publiccontext.Info{}, cmp.Or(b.Err, publiccontext.ErrNotFound)
}

// SetPublicContext returns the error.
func (b *Board) SetPublicContext(context.Context, string, io.Reader, publiccontext.Condition) (publiccontext.Info, error) {
	return publiccontext.Info{}, b.Err
}

// DeletePublicContext returns the error.
func (b *Board) DeletePublicContext(context.Context, string, publiccontext.Condition) error {
	return b.Err
}

// Ready returns the error.
func (b *Board) Ready() error { return b.Err }

// Totals returns the numbers.
func (b *Board) Totals() flcollect.Totals { return b.Numbers }

// FailsLate is a board whose audit log fails at its end only.
type FailsLate struct{ *Board }

// Audit yields the lines, and then an error.
func (f *FailsLate) Audit(ctx context.Context, id string, after int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		for line, err := range f.Board.Audit(ctx, id, after) {
			if !yield(line, err) {
				return
			}
		}
		yield(nil, errors.New("the store is dead"))
	}
}
