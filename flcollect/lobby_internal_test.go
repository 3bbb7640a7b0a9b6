package flcollect

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/group"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// mute is a session that never ends.
type mute struct{ round.Session }

func (mute) Done() <-chan struct{} { return nil }

// newVisitor returns a client that calls the server by a name.
func newVisitor(name, host string) *visitor {
	peer := flower.Peer{Header: func(key string) string {
		if key == ":authority" {
			return host
		}
		return ""
	}}
	return &visitor{Visitor: group.Visitor{Client: round.NewMember(mute{}, name, peer, name)}}
}

// serverWithJobs returns a server on a store with jobs j0, j1 and so on, which wait for clients.
func serverWithJobs(t *testing.T, jobs int) *Server {
	docs := storage.NewMemoryDocuments()
	config, _, err := jobconfig.Config{Strategy: "FedAvg", Rounds: 1, ModelName: "m", ModelVersion: "1",
		StrategyConf: strategy.Conf{"min_available_clients": int64(1000)}, ClientConf: []map[string]any{{}}}.Stored()
	require.NoError(t, err)
	for i := range jobs {
		r := job.Record{Outcome: job.Outcome{Token: fmt.Sprint("t", i), Config: config}, ID: fmt.Sprint("j", i), Run: 1,
			State: report.Waiting, Created: job.Now().Add(time.Duration(i) * time.Second)}
		data, err := r.Marshal()
		require.NoError(t, err)
		_, err = docs.Create(t.Context(), job.Key(r.ID), data)
		require.NoError(t, err)
	}
	s, err := NewServer(Config{Documents: docs, Blobs: storage.NewMemoryBlobs(), Dir: t.TempDir(),
		Initial: func(context.Context, jobconfig.Config) (strategy.Model, error) {
			return strategy.Model{tensor.FromFloat32s([]float32{1})}, nil
		}})
	require.NoError(t, err)
	return s
}

func TestServer_Run_showsResumedJobsTogether(t *testing.T) {
	wrongTotal := 0
	for range 50 {
		const jobs, clients = 2, 200
		s := serverWithJobs(t, jobs)
		var mu sync.Mutex
		wrong := 0
		var all sync.WaitGroup
		for i := range clients {
			all.Go(func() {
				want := fmt.Sprint("j", i%jobs)
				v := newVisitor(fmt.Sprint("c", i), want+".example")
				for {
					j, _, next, err := s.lobby.join(t.Context(), v)
					if err != nil {
						t.Error(err)
						return
					}
					if j != nil {
						if j.ID() != want {
							mu.Lock()
							wrong++
							mu.Unlock()
						}
						return
					}
					<-next
				}
			})
		}
		require.Eventually(t, func() bool { _, w := s.lobby.count(); return w == clients }, 10*time.Second, time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		all.Wait()
		cancel()
		wrongTotal += wrong
		<-done
	}
	require.Zero(t, wrongTotal, "clients that joined the job of another host")
}

func TestLobby_join_countsEachClientForTheNext(t *testing.T) {
	s := serverWithJobs(t, 0)
	s.life = t.Context()
	config, _, err := jobconfig.Config{
		Strategy: "FedAvg", Rounds: 1, ModelName: "m", ModelVersion: "1", ClientConf: []map[string]any{{}},
	}.Stored()
	require.NoError(t, err)
	uneven := 0
	const tries = 1000
	for n := range tries {
		var jobs []*job.Job
		for _, id := range []string{"a", "b"} {
			selected, err := strategy.New("FedAvg", strategy.Conf{"min_available_clients": int64(2)})
			require.NoError(t, err)
			r := job.Record{Outcome: job.Outcome{Token: id, Config: config}, ID: id, Run: 1, State: report.Waiting, Created: job.Now()}
			j := member{s}.newJob(r, 1, selected)
			s.jobs.add(j)
			jobs = append(jobs, j)
		}
		start := make(chan struct{})
		var all sync.WaitGroup
		for i := range 4 {
			v := newVisitor(fmt.Sprint(n, "c", i), "10.0.0.1")
			v.asked = true
			all.Go(func() {
				<-start
				_, _, _, _ = s.lobby.join(t.Context(), v)
			})
		}
		close(start)
		all.Wait()
		if len(jobs[0].Clients()) != 2 {
			uneven++
		}
	}
	require.Zero(t, uneven, "pairs of jobs that did not get two clients each")
}
