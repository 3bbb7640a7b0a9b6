package collectors_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
	"github.com/iotenablers/enablers/test/interop"
	"github.com/iotenablers/enablers/test/interop/load"
)

// lease is that of the collectors: long enough for two cores that do much else.
const lease = "3s"

// house is two collectors on one store, and the one address of both.
type house struct {
	t         *testing.T
	program   string
	arguments []string // of both
	folders   []string
	jobs      *load.Jobs
	clients   *load.Balancer
	members   [2]*interop.Server
}

func newHouse(t *testing.T) *house {
	server, bucket := mongotest.Start(t), s3test.StartMinIO(t)
	database, name := server.Database(t), bucket.Bucket(t)
	t.Setenv("AWS_ACCESS_KEY_ID", s3test.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", s3test.SecretKey)
	h := &house{
		t: t, program: interop.Build(t, "flcollector"), folders: []string{t.TempDir(), t.TempDir()},
		jobs: load.OpenJobs(t, server.URI, database, bucket, name), clients: load.NewBalancer(t, 2),
		arguments: []string{
			"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-fleet", "127.0.0.1:0", "-lease", lease,
			"-store", server.URI + "/" + database, "-blobs", "s3://" + bucket.Address() + "/" + name + "?insecure=true",
		},
	}
	h.start(0)
	h.start(1)
	return h
}

// start starts a collector, as a supervisor does after a kill.
func (h *house) start(at int) {
	h.t.Helper()
	h.members[at] = interop.StartServer(h.t, h.program, append([]string{"-data", h.folders[at]}, h.arguments...)...)
	clients, _, _ := strings.Cut(h.members[at].AwaitLine("listening on grpc://"), " ")
	h.clients.Set(at, clients)
}

// join runs a client until the test ends; after its job it waits for the next.
func (h *house) join(r load.Trainer) {
	client, err := flower.NewClient(flower.ClientConfig{Target: h.clients.Address(), Trainer: r, Patience: load.Patience})
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			if err := client.Run(ctx); err != nil && ctx.Err() == nil {
				h.t.Errorf("a client has ended: %v", err)
				return
			}
		}
	})
	h.t.Cleanup(func() {
		cancel()
		group.Wait()
	})
}

// results returns how many results of each job are in the repository of the collectors.
func (h *house) results() map[string]int {
	h.t.Helper()
	found, err := load.Results(http.DefaultClient, h.members[0].URL)
	require.NoError(h.t, err)
	return found
}

// begin starts a job at either collector, and repeats that until one has confirmed it.
func (h *house) begin(id string) {
	h.t.Helper()
	h.await("the start of "+id, func() bool {
		for _, member := range h.members {
			answer, err := http.Post(member.URL+"/job/config/"+id, "application/json", strings.NewReader(load.JobConfiguration))
			if err != nil {
				continue
			}
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return true
			}
			h.t.Logf("start %s: %s", id, text)
		}
		return false
	})
}

// await polls until something holds, which other processes bring about.
func (h *house) await(what string, holds func() bool) {
	h.t.Helper()
	deadline := time.NewTimer(load.Patience)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-deadline.C:
			h.t.Fatalf("%s: not within %v", what, load.Patience) // the processes' output is logged
		}
	}
}

func TestServer_Run_losesNoJobWhenCollectorsAreKilled(t *testing.T) {
	few := uint64(6)
	if testing.Short() || !peertest.Required() {
		few = 3
	}
	kills := int(load.Number(t, load.Kills, few))
	seed := load.Number(t, load.Seed, uint64(time.Now().UnixNano()))
	t.Logf("%s=%d", load.Seed, seed)
	random := rand.New(rand.NewPCG(seed, seed))
	h := newHouse(t)
	for range 3 {
		h.join(load.Trainer{Pause: 50 * time.Millisecond})
	}

	var conducting, others load.Gaps // until the next round, by what the victim did
	killed := func() int { return len(conducting) + len(others) }
	want := map[string]int{}
	for jobs := 0; killed() < kills; jobs++ {
		id := fmt.Sprint("job-", jobs)
		want[id] = 1
		h.begin(id)
		for killed() < kills {
			after := 1 + random.IntN(load.Rounds/2)
			before := h.jobs.Get(id)
			h.await("a round of "+id, func() bool {
				now := h.jobs.Get(id)
				return now.State.Ended() || now.Round >= before.Round+after
			})
			if h.jobs.Get(id).State.Ended() {
				break
			}
			<-time.After(time.Duration(random.IntN(300)) * time.Millisecond) // the moment of a kill is any
			victim, conductor := random.IntN(2), h.jobs.Conductor(id, h.folders)
			h.members[victim].Kill()
			began, last := time.Now(), h.jobs.Get(id)
			h.await("the round after a kill in "+id, func() bool {
				now := h.jobs.Get(id)
				return now.State.Ended() || now.Round > last.Round
			})
			if victim == conductor {
				conducting = append(conducting, time.Since(began))
			} else {
				others = append(others, time.Since(began))
			}
			h.start(victim)
		}
		h.await("the end of "+id, func() bool { return h.jobs.Get(id).State.Ended() })
	}
	h.await("the results", func() bool { return maps.Equal(h.results(), want) })
	h.members[0].Kill()
	h.members[1].Kill()
	for id := range want {
		h.jobs.Check(id)
	}
	t.Logf("the next round was stored after a kill of the collector that conducted the job: %v", conducting)
	t.Logf("and after a kill of the other one: %v", others)
}
