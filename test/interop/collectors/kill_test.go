package collectors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/mongo"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	// killsVariable is the environment variable with the number of kills.
	killsVariable = "ENABLERS_KILLS"
	// seedVariable is the one with the number that chooses what is killed, and when: that of
	// a run that failed, say. Without it every run is another.
	seedVariable = "ENABLERS_KILL_SEED"
	rounds       = 20
	patience     = 2 * time.Minute
)

// house is two collectors on one store, and the one address of both.
type house struct {
	t         *testing.T
	documents storage.Documents
	blobs     storage.Blobs
	env       []string

	mu      sync.Mutex
	members [2]*member
	calls   int
}

// member is a collector that runs.
type member struct {
	*interop.Process
	clients, web string
}

func newHouse(t *testing.T) *house {
	server, bucket := mongotest.Start(t), s3test.StartMinIO(t)
	database := server.Database(t)
	store, err := mongo.Open(t.Context(), mongo.Config{URI: server.URI, Database: database})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	objects, err := openBlobs(t.Context(), bucket.Address())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	h := &house{t: t, documents: store.Documents(), blobs: objects.Blobs(), env: []string{
		uriVariable + "=" + server.URI, databaseVariable + "=" + database, bucketVariable + "=" + bucket.Address(),
	}}
	h.start(0)
	h.start(1)
	return h
}

// start starts a collector, as a supervisor does after a kill.
func (h *house) start(at int) {
	h.t.Helper()
	program, err := os.Executable()
	require.NoError(h.t, err)
	command := exec.Command(program)
	command.Env = slices.Concat(os.Environ(), h.env, []string{fmt.Sprintf("%s=collector-%d", nameVariable, at)})
	process := interop.StartProcess(h.t, command)
	clients, web, _ := strings.Cut(process.AwaitLine("collector at "), " and ")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[at] = &member{process, clients, web}
}

func (h *house) member(at int) *member {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.members[at]
}

// dial is the one address: each call goes to the next collector that answers.
func (h *house) dial(ctx context.Context, _ string) (net.Conn, error) {
	var failed error
	for range 2 {
		h.mu.Lock()
		h.calls++
		to := h.members[h.calls%2].clients
		h.mu.Unlock()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", to)
		if err == nil {
			return conn, nil
		}
		failed = errors.Join(failed, err)
	}
	return nil, failed
}

// join runs a client until the test ends; after its job it waits for the next.
func (h *house) join(r trainer) {
	client, err := flower.NewClient(flower.ClientConfig{Target: "collectors", Trainer: r, Dial: h.dial, Patience: patience})
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

// stored is the part of a job's document that the test reads.
type stored struct {
	Run   int64           `json:"run"`
	State flcollect.State `json:"state"`
	Round int             `json:"round"`
	Error string          `json:"error"`
}

func read(t *testing.T, documents storage.Documents, id string) stored {
	t.Helper()
	doc, err := documents.Get(t.Context(), "job/"+id)
	require.NoError(t, err)
	var s stored
	require.NoError(t, json.Unmarshal(doc.Data, &s))
	return s
}

// begin starts a job at either collector, and repeats that until one has confirmed it.
func (h *house) begin(id string) {
	h.t.Helper()
	h.await("the start of "+id, func() bool {
		for at := range 2 {
			answer, err := http.Post(fmt.Sprintf("http://%s/start/%s/%d", h.member(at).web, id, rounds), "", nil)
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
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for !holds() {
		select {
		case <-poll.C:
		case <-deadline.C:
			h.t.Fatalf("%s: not within %v\nfirst:\n%s\nsecond:\n%s", what, patience, h.member(0).Output(), h.member(1).Output())
		}
	}
}

// check looks at a job as a server does that is alone with what the others have left: each
// round is there once, and each that has aggregated has added one to every number, whichever
// clients took part.
func (h *house) check(id string) {
	h.t.Helper()
	server, err := flcollect.NewServer(flcollect.Config{Documents: h.documents, Blobs: h.blobs})
	require.NoError(h.t, err)
	status, err := server.Status(h.t.Context(), id)
	require.NoError(h.t, err)
	require.Equal(h.t, flcollect.Finished, status.State, status.Error)
	require.Equal(h.t, int64(1), status.Run)
	records, err := server.Rounds(h.t.Context(), id, 0, 0)
	require.NoError(h.t, err)
	require.Len(h.t, records, rounds)
	aggregated := 0
	for i, r := range records {
		require.Equal(h.t, i+1, r.Number)
		if r.Aggregated {
			aggregated++
		}
	}
	require.Equal(h.t, aggregated, status.Aggregated)
	result, err := server.Result(h.t.Context(), id)
	require.NoError(h.t, err)
	numbers := result.Weights[0].Float64s()
	require.Len(h.t, numbers, size)
	for _, n := range numbers {
		require.Equal(h.t, float64(aggregated), n, id)
	}
	require.Greater(h.t, aggregated, rounds/2)
	last := int64(0)
	for line, err := range server.Audit(h.t.Context(), id, 0) {
		require.NoError(h.t, err)
		require.NotEmpty(h.t, line)
		last++
	}
	require.GreaterOrEqual(h.t, last, int64(rounds)) // and one for each round that was lost
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

func TestServer_Run_losesNoJobWhenCollectorsAreKilled(t *testing.T) {
	few := uint64(6)
	if testing.Short() || !peertest.Required() {
		few = 3
	}
	kills := int(number(t, killsVariable, few))
	seed := number(t, seedVariable, uint64(time.Now().UnixNano()))
	t.Logf("%s=%d", seedVariable, seed)
	random := rand.New(rand.NewPCG(seed, seed))
	h := newHouse(t)
	for range 3 {
		h.join(trainer{pause: 50 * time.Millisecond})
	}

	var gaps []time.Duration
	jobs := 0
	for ; len(gaps) < kills; jobs++ {
		id := fmt.Sprint("job-", jobs)
		h.begin(id)
		for len(gaps) < kills {
			after := 1 + random.IntN(rounds/2)
			before := read(t, h.documents, id)
			h.await("a round of "+id, func() bool {
				now := read(t, h.documents, id)
				return now.State.Ended() || now.Round >= before.Round+after
			})
			if read(t, h.documents, id).State.Ended() {
				break
			}
			<-time.After(time.Duration(random.IntN(300)) * time.Millisecond) // the moment of a kill is any
			victim := random.IntN(2)
			h.member(victim).Kill()
			began, last := time.Now(), read(t, h.documents, id)
			h.await("the round after a kill in "+id, func() bool {
				now := read(t, h.documents, id)
				return now.State.Ended() || now.Round > last.Round
			})
			gaps = append(gaps, time.Since(began))
			h.start(victim)
		}
		h.await("the end of "+id, func() bool { return read(t, h.documents, id).State.Ended() })
	}
	h.member(0).Kill()
	h.member(1).Kill()
	for number := range jobs {
		h.check(fmt.Sprint("job-", number))
	}
	slices.Sort(gaps)
	t.Logf("%d kills: the next round was stored after %v in the middle, %v at p95, %v at most",
		kills, gaps[len(gaps)/2], gaps[(len(gaps)*95-1)/100], gaps[len(gaps)-1])
}
