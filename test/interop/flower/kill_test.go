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
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/tensor"
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

func TestEveryTrainingEndsWithOneResultHoweverOftenTheCollectorIsKilled(t *testing.T) {
	for _, c := range []struct {
		name      string
		trainings int
		apart     bool // the repository is another process
	}{{"with its own repository", 60, false}, {"with a repository that is killed too", 30, true}} {
		t.Run(c.name, func(t *testing.T) {
			trainings := c.trainings
			if testing.Short() || !peertest.Required() {
				trainings /= 6
			}
			python := peertest.Python(t, "flwr=="+newest)
			k := newKiller(t, c.apart)
			var pickles [][]byte
			for number := range trainings {
				pickles = append(pickles, k.train(number))
			}
			k.logf(trainings)
			require.Len(t, k.repository().results("adder", "1"), trainings, "one result for each training")
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
	k.with.data = t.TempDir()
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
		panic(err) // there is no other address
	}
	for ctx.Err() == nil {
		_ = client.Run(ctx) // the collector is killed all the time
		select {
		case <-time.After(retry):
		case <-ctx.Done():
		}
	}
}

// train conducts a training, in which the collector, or who has its repository, is
// killed up to three times, and returns the pickle that the repository has of it. The first training of
// all is not disturbed, and tells how long one takes.
func (k *killer) train(number int) []byte {
	k.t.Helper()
	id, begun := fmt.Sprintf("training-%d", number), time.Now()
	var seen witness
	if number == 0 {
		k.collector.start(id, training("FedAvg", killedRounds, killedClients, nil))
		k.collector.awaitResult(id)
		k.length = time.Since(begun)
		return k.repository().weights("adder", "1", id)
	}
	for kill, kills := 0, 1+k.random.IntN(3); kill < kills; kill++ {
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
			k.collector.start(id, training("FedAvg", killedRounds, killedClients, nil))
		}
	}
	end := k.collector.awaitResult(id)
	require.Equal(k.t, killedRounds, end.Round)
	rounds := k.collector.rounds(id)
	require.Len(k.t, rounds, killedRounds)
	for i, r := range rounds {
		require.Equal(k.t, i+1, r.Number)
	}
	var mine []stored
	for _, result := range k.repository().results("adder", "1") {
		if result.TrainingID == id {
			mine = append(mine, result)
		}
	}
	require.Len(k.t, mine, 1)
	require.NotEmpty(k.t, mine[0].WeightsID)
	require.Equal(k.t, strconv.Itoa(killedRounds), mine[0].Results["rounds"])
	text := string(k.repository().get("/training-results/weights/adder/1/" + id))
	for _, earlier := range seen.texts {
		require.Equal(k.t, text, earlier, "%s had other weights before", id)
	}
	return k.repository().weights("adder", "1", id)
}

// tryStart starts a job on a collector that may be killed meanwhile, and reports
// whether that was confirmed.
func tryStart(c *collector, id string) bool {
	body, err := json.Marshal(training("FedAvg", killedRounds, killedClients, nil))
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
	for {
		select {
		case <-until:
			return
		default:
		}
		code, text, err := ask(http.MethodGet, repository+"/training-results/weights/adder/1/"+id, nil, "")
		if err == nil && code == http.StatusOK {
			w.texts = append(w.texts, string(text))
		}
		time.Sleep(retry)
	}
}

// adder is a trainer that adds a number to every weight.
type adder struct{ number float64 }

// Properties implements [flower.Trainer].
func (adder) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	return nil, flower.ErrNotImplemented
}

// Parameters implements [flower.Trainer].
func (adder) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	return flower.FromTensors(tensor.FromFloat32s(make([]float32, 30_000), 300, 100), tensor.FromFloat64s(make([]float64, 4))), nil
}

// Fit implements [flower.Trainer]. It takes some time, as training does.
func (a adder) Fit(_ context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	time.Sleep(time.Millisecond)
	added := make([]tensor.Tensor, len(model))
	for i, layer := range model {
		values := layer.Float64s()
		for at := range values {
			values[at] += a.number
		}
		built := tensor.NewBuilder(layer.DType(), layer.Shape())
		built.Write(values, 0)
		added[i] = built.Tensor()
	}
	return &flower.FitRes{Parameters: flower.FromTensors(added...), NumExamples: 10}, nil
}

// Evaluate implements [flower.Trainer].
func (adder) Evaluate(context.Context, flower.EvaluateIns) (*flower.EvaluateRes, error) {
	return &flower.EvaluateRes{Loss: 0.5, NumExamples: 10}, nil
}
