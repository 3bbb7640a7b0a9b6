package collectors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	"github.com/iotenablers/enablers/storage/s3"
	"github.com/iotenablers/enablers/storage/s3/s3test"
	"github.com/iotenablers/enablers/test/interop"
)

const (
	// killsVariable is the environment variable with the number of kills.
	killsVariable = "ENABLERS_KILLS"
	// seedVariable is the one with the number that chooses what is killed, and when: that of
	// a run that failed, say. Without it every run is another.
	seedVariable = "ENABLERS_KILL_SEED"
	rounds       = 20 // as configuration says
	patience     = 2 * time.Minute
)

// lease is that of the collectors: long enough for two cores that do much else.
const lease = "3s"

// house is two collectors on one store, and the one address of both.
type house struct {
	t         *testing.T
	program   string
	arguments []string // of both
	folders   [2]string
	documents storage.Documents // of their jobs
	blobs     storage.Blobs

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
	objects, err := s3.Open(t.Context(), s3.Config{
		Endpoint: bucket.Address(), Bucket: "training", CreateBucket: true, Insecure: true,
		AccessKey: s3test.AccessKey, SecretKey: s3test.SecretKey, SweepInterval: -1,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, objects.Close()) })
	h := &house{
		t: t, program: interop.Build(t, "flcollector"), folders: [2]string{t.TempDir(), t.TempDir()},
		documents: storage.Prefixed(store.Documents(), "collector/"), blobs: storage.PrefixedBlobs(objects.Blobs(), "collector/"),
		arguments: []string{
			"-listen", "127.0.0.1:0", "-grpc-listen", "127.0.0.1:0", "-lease", lease,
			"-store", server.URI + "/" + database, "-blobs", "s3://" + bucket.Address() + "/training?insecure=true",
		},
	}
	h.start(0)
	h.start(1)
	return h
}

// start starts a collector, as a supervisor does after a kill.
func (h *house) start(at int) {
	h.t.Helper()
	command := exec.Command(h.program, append(slices.Clone(h.arguments), "-data", h.folders[at])...)
	command.Dir = h.folders[at]
	command.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return strings.HasPrefix(name, "FLCOLLECTOR_") || slices.Contains([]string{
			"HOST", "PORT", "FEDERATED_PORT", "REPOSITORY_ADDRESS", "ORCHESTRATOR_ADDRESS",
		}, name)
	})
	command.Env = append(command.Env, "AWS_ACCESS_KEY_ID="+s3test.AccessKey, "AWS_SECRET_ACCESS_KEY="+s3test.SecretKey)
	process := interop.StartProcess(h.t, command)
	web, _, _ := strings.Cut(process.AwaitLine("listening on http://"), " ")
	clients, _, _ := strings.Cut(process.AwaitLine("listening on grpc://"), " ")
	h.mu.Lock()
	defer h.mu.Unlock()
	h.members[at] = &member{process, clients, web}
}

// conductor returns which collector conducts a job, -1 where there is none at the moment.
func (h *house) conductor(id string) int {
	h.t.Helper()
	var entry, holder struct {
		Session string `json:"session"`
	}
	doc, err := h.documents.Get(h.t.Context(), "active/"+id)
	if errors.Is(err, storage.ErrNotFound) {
		return -1
	}
	require.NoError(h.t, err)
	require.NoError(h.t, json.Unmarshal(doc.Data, &entry))
	for at, folder := range h.folders {
		name, err := os.ReadFile(filepath.Join(folder, "instance"))
		require.NoError(h.t, err)
		doc, err := h.documents.Get(h.t.Context(), "server/"+strings.TrimSpace(string(name)))
		if errors.Is(err, storage.ErrNotFound) {
			continue
		}
		require.NoError(h.t, err)
		require.NoError(h.t, json.Unmarshal(doc.Data, &holder))
		if holder.Session == entry.Session {
			return at
		}
	}
	return -1
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

// configuration is that of every job.
const configuration = `{"strategy": "avg", "model_name": "m", "model_version": "1", "configuration_id": 7,
	"server_conf": {"num_rounds": 20}, "privacy-mechanisms": {}, "client_conf": [{"epochs": 1}],
	"strategy_conf": {"min_fit_clients": 2, "min_evaluate_clients": 2, "min_available_clients": 2}}`

// results returns how many results of each job are in the repository of the collectors.
func (h *house) results() map[string]int {
	h.t.Helper()
	answer, err := http.Get("http://" + h.member(0).web + "/training-results/m/1")
	require.NoError(h.t, err)
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil
	}
	var records []struct {
		Job string `json:"training_id"`
	}
	require.NoError(h.t, json.NewDecoder(answer.Body).Decode(&records))
	found := map[string]int{}
	for _, r := range records {
		found[r.Job]++
	}
	return found
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
			answer, err := http.Post("http://"+h.member(at).web+"/job/config/"+id, "application/json", strings.NewReader(configuration))
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

	var conducting, others []time.Duration // until the next round, by what the victim did
	killed := func() int { return len(conducting) + len(others) }
	want := map[string]int{}
	for jobs := 0; killed() < kills; jobs++ {
		id := fmt.Sprint("job-", jobs)
		want[id] = 1
		h.begin(id)
		for killed() < kills {
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
			victim, conductor := random.IntN(2), h.conductor(id)
			h.member(victim).Kill()
			began, last := time.Now(), read(t, h.documents, id)
			h.await("the round after a kill in "+id, func() bool {
				now := read(t, h.documents, id)
				return now.State.Ended() || now.Round > last.Round
			})
			if victim == conductor {
				conducting = append(conducting, time.Since(began))
			} else {
				others = append(others, time.Since(began))
			}
			h.start(victim)
		}
		h.await("the end of "+id, func() bool { return read(t, h.documents, id).State.Ended() })
	}
	h.await("the results", func() bool { return maps.Equal(h.results(), want) })
	h.member(0).Kill()
	h.member(1).Kill()
	for id := range want {
		h.check(id)
	}
	report(t, "of the collector that conducted the job", conducting)
	report(t, "of the other one", others)
}

func report(t *testing.T, what string, gaps []time.Duration) {
	t.Helper()
	if len(gaps) == 0 {
		return
	}
	slices.Sort(gaps)
	t.Logf("%d kills %s: the next round was stored after %v in the middle, %v at p95, %v at most",
		len(gaps), what, gaps[len(gaps)/2], gaps[(len(gaps)*95-1)/100], gaps[len(gaps)-1])
}
