package flower_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/peertest"
)

// killSeed is the environment variable with the number that chooses when to
// kill: that of a run that failed, say. Without it every run is another.
const killSeed = "ENABLERS_KILL_SEED"

// The trainings of these tests. Their clients add 1, 2 and 3, and so 2 on
// average, in every round.
const (
	killedRounds  = 8
	killedClients = 3
)

func TestCollector_kill_leavesOneResultOfEveryTraining(t *testing.T) {
	for _, c := range []struct {
		name      string
		trainings int
		apart     bool // the repository is another process
	}{{"with its own repository", 40, false}, {"with a repository that is killed too", 15, true}} {
		t.Run(c.name, func(t *testing.T) {
			trainings := c.trainings
			if testing.Short() || !peertest.Required() {
				trainings /= 2
			}
			python := install(t, oldest)
			k := newKiller(t, c.apart)
			var pickles [][]byte
			for number := range trainings {
				pickles = append(pickles, k.train(number))
			}
			k.logf(trainings)
			var all []stored
			k.repository().read("/training-results", &all)
			require.Len(t, all, trainings, "one result for each training")
			const sum = 2 * killedRounds
			for _, model := range load(t, python, pickles...) {
				require.Equal(t, []layer{{"float32", []int{300, 100}, sum, sum}, {"float64", []int{4}, sum, sum}}, model)
			}
		})
	}
}

// killer starts and kills a collector, whose clients come back to it.
type killer struct {
	t         *testing.T
	with      setup
	other     *collector // has the repository; nil where the collector itself has it
	elsewhere setup      // of the other
	way       *relay     // to the other
	random    *rand.Rand
	collector *collector
	address   atomic.Value // string: of the collector for clients
	length    time.Duration
	found     map[string]int // how often a training was in which state after a kill

	orchestrator *orchestrator
}

func newKiller(t *testing.T, apart bool) *killer {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(killSeed); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("%s=%d", killSeed, seed)
	k := &killer{t: t, random: rand.New(rand.NewPCG(seed, 0)), found: map[string]int{}}
	k.orchestrator = startOrchestrator(t, nil)
	k.with.data, k.with.orchestrator = t.TempDir(), k.orchestrator.URL
	if apart {
		k.elsewhere.data, k.way = t.TempDir(), startRelay(t)
		k.with.repository = "http://" + k.way.address
	}
	k.begin()
	ctx, cancel := context.WithCancel(context.Background())
	var clients sync.WaitGroup
	for number := range killedClients {
		clients.Go(func() { k.client(ctx, number) })
	}
	t.Cleanup(func() {
		cancel()
		clients.Wait()
	})
	return k
}

// begin starts what has ended on what is there.
func (k *killer) begin() {
	k.t.Helper()
	if k.way != nil && (k.other == nil || ended(k.other)) {
		k.other = startCollector(k.t, k.elsewhere)
		k.way.lead(k.other.url)
	}
	if k.collector == nil || ended(k.collector) {
		k.collector = startCollector(k.t, k.with)
		k.address.Store(k.collector.clients)
	}
}

func ended(c *collector) bool {
	select {
	case <-c.Ended():
		return true
	default:
		return false
	}
}

// victim returns who is to be killed.
func (k *killer) victim() *collector {
	if k.other != nil && k.random.IntN(2) == 0 {
		return k.other
	}
	return k.collector
}

func (k *killer) repository() *collector {
	if k.other != nil {
		return k.other
	}
	return k.collector
}

// client is a client that comes back whatever happens.
func (k *killer) client(ctx context.Context, number int) {
	client, err := flower.NewClient(flower.ClientConfig{
		Target: "collector:1", Trainer: adder{float64(number + 1)},
		Dial: func(ctx context.Context, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", k.address.Load().(string))
		},
	})
	if err != nil {
		panic(err) // the address is valid
	}
	for ctx.Err() == nil {
		_ = client.Run(ctx) // the collector is killed all the time
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
}

// undisturbed is how many trainings are, before the first that is not. They tell
// how long one takes.
const undisturbed = 3

// train conducts a training, in which the collector, or who has its repository, is
// killed once or twice, and returns the pickle that the repository has of it.
func (k *killer) train(number int) []byte {
	k.t.Helper()
	id, begun := fmt.Sprintf("training-%d", number), time.Now()
	var seen witness
	if number < undisturbed {
		k.collector.start(id, killed(id))
		k.collector.awaitResult(id)
		if length := time.Since(begun); number == 0 || length < k.length {
			k.length = length
		}
		return k.repository().weights(id, "1", id)
	}
	for kill, kills := 0, 1+k.random.IntN(2); kill < kills; kill++ {
		instant := time.Duration(k.random.Int64N(int64(k.length)))
		gone, victim := make(chan struct{}), k.victim()
		time.AfterFunc(instant, func() {
			victim.Kill()
			close(gone)
		})
		known := kill > 0
		if !known {
			known = tryStart(k.collector, id)
		}
		seen.watch(k.repository().url, id, gone)
		<-gone
		k.begin()
		s := k.collector.status(id)
		if s.Status == "FINISHED" && !s.Stored {
			s.Status = "STORING"
		}
		k.found[s.Status]++
		if s.Status == "INACTIVE" {
			require.False(k.t, known, "%s was confirmed and is lost", id)
			k.collector.start(id, killed(id))
		}
	}
	k.requireWhole(id)
	k.requireAudited(id)
	text := string(k.repository().get("/training-results/weights/" + id + "/1/" + id))
	for _, earlier := range seen.texts {
		require.Equal(k.t, text, earlier, "%s had other weights before", id)
	}
	return k.repository().weights(id, "1", id)
}

// killed is the configuration of a training, whose model has the id as its name.
func killed(id string) map[string]any {
	config := training("FedAvg", killedRounds, killedClients, nil)
	config["model_name"] = id
	return config
}

// requireWhole waits for the end of a training, and checks that every round
// counts once, that there is one result, and the notifications of the orchestrator.
func (k *killer) requireWhole(id string) {
	k.t.Helper()
	end := k.collector.awaitResult(id)
	require.Equal(k.t, killedRounds, end.Round)
	rounds := k.collector.rounds(id)
	require.Len(k.t, rounds, killedRounds)
	for i, r := range rounds {
		require.Equal(k.t, i+1, r.Number)
		require.True(k.t, r.Aggregated)
	}
	results := k.repository().results(id, "1")
	require.Len(k.t, results, 1)
	require.Equal(k.t, id, results[0].TrainingID)
	require.NotEmpty(k.t, results[0].WeightsID)
	require.Equal(k.t, strconv.Itoa(killedRounds), results[0].Results["rounds"])
	var told []int
	require.Eventually(k.t, func() bool {
		told = nil
		for _, n := range k.orchestrator.news() {
			if n.ModelName == id {
				told = append(told, n.Round)
			}
		}
		return slices.Contains(told, killedRounds)
	}, patience, retry, "the orchestrator does not know of the last round")
	// A notification just before a kill may be repeated.
	require.True(k.t, slices.IsSorted(told), "%s: %v", id, told)
	require.Len(k.t, slices.Compact(slices.Clone(told)), killedRounds, "%s: %v", id, told)
}

// requireAudited checks that the audit log of a training is whole, and that the
// lines of the rounds that count lead from one model to the next.
func (k *killer) requireAudited(id string) {
	k.t.Helper()
	log := k.collector.get("/job/audit/" + id)
	last, err := report.VerifyAudit(bytes.NewReader(log))
	require.NoError(k.t, err)
	lines := bytes.Split(bytes.TrimSuffix(log, []byte("\n")), []byte("\n"))
	require.EqualValues(k.t, len(lines), last.Line)
	require.GreaterOrEqual(k.t, len(lines), killedRounds)
	var page struct{ Rounds []report.Round }
	k.collector.read("/job/rounds/"+id, &page)
	model := ""
	for _, r := range page.Rounds {
		require.NotNil(k.t, r.Audit)
		var line report.AuditLine
		require.NoError(k.t, json.Unmarshal(lines[r.Audit.Line-1], &line))
		require.Equal(k.t, r.Number, line.Round)
		require.Equal(k.t, report.Counts{Kept: killedClients}, line.Counts)
		if model != "" {
			require.Equal(k.t, model, line.Model, "round %d", r.Number)
		}
		model = line.Result
	}
}

// tryStart starts a job on a collector that may be killed meanwhile, and reports
// whether that was confirmed.
func tryStart(c *collector, id string) bool {
	body, err := json.Marshal(killed(id))
	require.NoError(c.t, err)
	code, answer, err := ask(http.MethodPost, c.url+"/job/config/"+id, bytes.NewReader(body), "application/json")
	return err == nil && code == http.StatusOK && string(answer) == "200"
}

func (k *killer) logf(trainings int) {
	k.t.Logf("%d trainings, an undisturbed one takes %v; states after a kill: %v", trainings, k.length, k.found)
	require.NotZero(k.t, k.found["TRAINING"]+k.found["WAITING"], "no training was interrupted")
}

// witness collects the weights of a training that can be seen before its end.
type witness struct{ texts []string }

// watch looks until the channel is closed.
func (w *witness) watch(repository, id string, until <-chan struct{}) {
	for again := time.Tick(retry); ; {
		code, text, err := ask(http.MethodGet, repository+"/training-results/weights/"+id+"/1/"+id, nil, "")
		if err == nil && code == http.StatusOK {
			w.texts = append(w.texts, string(text))
		}
		select {
		case <-until:
			return
		case <-again:
		}
	}
}
