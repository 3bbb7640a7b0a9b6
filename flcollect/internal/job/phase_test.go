package job

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// silent observes and counts nothing.
type silent struct{}

func (silent) Moved(_, _ report.State)                        {}
func (silent) Offered()                                       {}
func (silent) Finished(*Job)                                  {}
func (silent) Failing(string, error)                          {}
func (silent) RoundFinished(_ report.Round, _ float64, _ int) {}
func (silent) UpdatesJudged(_ report.Counts, _ int)           {}

// stage is a job that runs, without clients, in a phase.
type stage struct {
	*Job
	documents storage.Documents
	end       context.CancelCauseFunc // of the server's life
	quit      context.CancelFunc      // begins the end of the server
}

// newStage runs a job that its record leaves in a phase. A repository takes no result before
// the test ends.
func newStage(t *testing.T, change func(r *Record)) *stage {
	t.Helper()
	config, _, err := jobconfig.Config{Strategy: "FedAvg", Rounds: 1, ClientConf: []map[string]any{{}}}.Stored()
	require.NoError(t, err)
	r := Record{Outcome: Outcome{Token: "t", Config: config}, ID: "a", Run: 1, State: report.Waiting, Created: Now()}
	change(&r)
	data, err := r.Marshal()
	require.NoError(t, err)
	s := &stage{documents: storage.NewMemoryDocuments()}
	revision, err := s.documents.Create(t.Context(), Key(r.ID), data)
	require.NoError(t, err)
	var life, ending context.Context
	life, s.end = context.WithCancelCause(context.Background())
	ending, s.quit = context.WithCancel(context.Background())
	service := &Service{
		Documents: s.documents, Blobs: storage.NewMemoryBlobs(), Observer: silent{}, Counter: silent{},
		Strategy: func(context.Context, jobconfig.Config, bool) (strategy.Strategy, error) {
			return strategy.New("FedAvg", nil)
		},
		Models: []func(context.Context, jobconfig.Config) (strategy.Model, []string, error){
			func(context.Context, jobconfig.Config) (strategy.Model, []string, error) {
				return strategy.Model{tensor.FromFloat32s([]float32{1})}, nil, nil
			},
		},
		Results: func(ctx context.Context, _ string, _ Outcome, _ int64) error {
			<-ctx.Done()
			return context.Cause(ctx)
		},
		ClientTimeout: 24 * time.Hour, Converting: make(chan struct{}, runtime.NumCPU()), Ending: ending,
		Log: slog.New(slog.DiscardHandler),
	}
	jobLife, lose := context.WithCancelCause(life)
	s.Job = New(service, jobLife, lose, r, revision, nil)
	go s.Run()
	synctest.Wait()
	return s
}

// shutdown ends the server.
func (s *stage) shutdown() {
	s.quit()
	s.end(ErrNotRunning)
}

// is returns what a job is in: its phase, its stored state, and whether it has ended and is done.
func (s *stage) is(t *testing.T) standing {
	t.Helper()
	synctest.Wait()
	stored, err := Find(t.Context(), s.documents, "a")
	require.NoError(t, err)
	closed := func(c <-chan struct{}) bool {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	s.phases.mu.Lock()
	defer s.phases.mu.Unlock()
	return standing{s.now, stored.State, closed(s.Ended()), closed(s.Done())}
}

type standing struct {
	phase       phase
	state       report.State
	ended, done bool
}

func TestJob_Run_endsInEachPhaseAsItIsAsked(t *testing.T) {
	finished := func(r *Record) {
		r.Round, r.Reported, r.Aggregated = 1, 1, 1
		r.State, r.Delivery = report.Training, Pending
	}
	phases := []struct {
		name   string
		change func(r *Record)
		is     standing
		stop   standing // after a request to stop
		yield  standing // after a request to leave the deliveries to another server
		lost   standing // after another server has taken the job, or this one has ended
	}{
		{
			"waiting", func(*Record) {}, standing{phaseWaiting, report.Waiting, false, false},
			standing{phaseEnded, report.Interrupted, true, true},
			standing{phaseWaiting, report.Waiting, false, false},
			standing{phaseEnded, report.Waiting, false, true},
		},
		{
			"training", func(r *Record) { r.State = report.Training }, standing{phaseTraining, report.Training, false, false},
			standing{phaseEnded, report.Interrupted, true, true},
			standing{phaseTraining, report.Training, false, false},
			standing{phaseEnded, report.Training, false, true},
		},
		{
			"saving", finished, standing{phaseSaving, report.Training, false, false},
			standing{phaseDelivering, report.Finished, true, false}, // its rounds were done
			standing{phaseSaving, report.Training, false, false},
			standing{phaseEnded, report.Training, false, true},
		},
		{
			"delivering", func(r *Record) { finished(r); r.State = report.Finished },
			standing{phaseDelivering, report.Finished, true, false},
			standing{phaseDelivering, report.Finished, true, false},
			standing{phaseEnded, report.Finished, true, true},
			standing{phaseEnded, report.Finished, true, true},
		},
		{
			"ended", func(r *Record) { finished(r); r.State, r.Delivery = report.Finished, Delivered },
			standing{phaseEnded, report.Finished, true, true},
			standing{phaseEnded, report.Finished, true, true},
			standing{phaseEnded, report.Finished, true, true},
			standing{phaseEnded, report.Finished, true, true},
		},
	}
	for _, p := range phases {
		events := []struct {
			name string
			do   func(s *stage)
			is   standing
		}{
			{"stop", func(s *stage) { s.Stop() }, p.stop},
			{"stop asked by another server", func(s *stage) { s.Asked("t", "") }, p.stop},
			{"another run asked", func(s *stage) { s.Asked("other", "other") }, p.is},
			{"yield", func(s *stage) { s.Asked("", "t") }, p.yield},
			{"lost", func(s *stage) { s.Lose() }, p.lost},
			{"the server begins to end", func(s *stage) { s.quit() }, p.is}, // and goes on after its restart
			{"shutdown", func(s *stage) { s.shutdown() }, p.lost},
		}
		for _, event := range events {
			t.Run(p.name+"/"+event.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStage(t, p.change)
					defer s.shutdown()
					require.Equal(t, p.is, s.is(t))
					event.do(s)
					require.Equal(t, event.is, s.is(t))
				})
			})
		}
	}
}

// full is a store that accepts no update.
type full struct{ storage.Documents }

func (full) Update(context.Context, string, storage.Revision, []byte) (storage.Revision, error) {
	return 0, storage.ErrFull
}

func TestJob_Stop_isSavedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(*Record) {})
		defer s.shutdown()
		documents := s.storage.Documents
		s.writing.Lock() // no save is in progress
		s.storage.Documents = full{documents}
		s.writing.Unlock()
		s.Stop()
		require.Equal(t, standing{phaseSaving, report.Waiting, false, false}, s.is(t))
		require.False(t, s.Accepts())
		s.Lose()
		require.Equal(t, standing{phaseEnded, report.Waiting, false, true}, s.is(t))
	})
}

func TestJob_Retire_endsTheDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(r *Record) {
			r.Round, r.Aggregated, r.State, r.Delivery = 1, 1, report.Finished, Pending
		})
		defer s.shutdown()
		s.Retire()
		require.Equal(t, standing{phaseEnded, report.Finished, true, true}, s.is(t))
		stored, err := Find(t.Context(), s.documents, "a")
		require.NoError(t, err)
		require.Equal(t, Pending, stored.Delivery, "the next run delivers it")
	})
}

func TestJob_Add_refusesClientsAfterTheRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, func(*Record) {})
		defer s.shutdown()
		require.True(t, s.Accepts())
		s.Stop()
		synctest.Wait()
		require.False(t, s.Accepts())
	})
}
