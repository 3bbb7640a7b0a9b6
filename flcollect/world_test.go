package flcollect_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/page"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// patience is how long tests wait for what must come.
const patience = 30 * time.Second

// world is a server with its storage and its clients.
type world struct {
	*flcollect.Server
	network
	documents storage.Documents
	blobs     storage.Blobs
	port      port
	address   string
	end       func() // of the server; it may be called again
}

// newWorld runs a server until the test ends. Storage that is not given is in
// memory.
func newWorld(t testing.TB, options flcollect.Config) *world {
	t.Helper()
	return newWorldOn(t, loopback{}, options)
}

// newWorldOn is newWorld on a network.
func newWorldOn(t testing.TB, n network, options flcollect.Config) *world {
	t.Helper()
	if options.Documents == nil {
		options.Documents = storage.NewMemoryDocuments()
	}
	if options.Blobs == nil {
		options.Blobs = storage.NewMemoryBlobs()
	}
	if options.Dir == "" {
		options.Dir = t.TempDir()
	}
	server, err := flcollect.NewServer(options)
	require.NoError(t, err)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	require.NoError(t, err)
	return serve(t, n, options, server, flowers, n.listen(t))
}

// web returns the REST interface of the server with the pages beside it.
func (w *world) web() http.Handler {
	return page.NewHandler(w.Server, &page.HandlerOptions{Root: true})
}

// serveWorld serves the web interface of a server that runs, and returns its URL, too.
func serveWorld(t *testing.T, w *world) (http.Handler, string) {
	t.Helper()
	require.Eventually(t, func() bool { return w.Ready() == nil }, patience, 1e6)
	h := w.web()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return h, server.URL
}

// restart ends the server and runs another on the same storage and address.
func (w *world) restart(t *testing.T, options flcollect.Config) *world {
	t.Helper()
	w.end()
	options.Documents, options.Blobs = w.documents, w.blobs
	server, err := flcollect.NewServer(options)
	require.NoError(t, err)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: server.Handle})
	require.NoError(t, err)
	w.port.Reopen()
	return serve(t, w.network, options, server, flowers, w.port)
}

// serve runs a server with a listener of a network.
func serve(t testing.TB, n network, options flcollect.Config, server *flcollect.Server, flowers *flower.Server, at port) *world {
	t.Helper()
	running, stop := context.WithCancel(context.Background())
	serving, finish := context.WithCancel(context.Background())
	ran, served := make(chan error, 1), make(chan error, 1)
	go func() { ran <- server.Run(running) }()
	go func() { served <- flowers.Serve(serving, at) }()
	w := &world{Server: server, network: n, documents: options.Documents, blobs: options.Blobs, port: at, address: at.Addr().String()}
	w.end = sync.OnceFunc(func() {
		stop()
		require.NoError(t, <-ran)
		finish()
		require.NoError(t, <-served)
	})
	t.Cleanup(w.end)
	return w
}

// trainer is a client that adds a step to every number. What it does otherwise
// is in its functions, as far as they are not nil.
type trainer struct {
	step       float64
	examples   int64
	begin      []float32 // the parameters it has; without any it refuses to give them
	properties flower.Config
	fit        func(ctx context.Context, ins flower.FitIns, res *flower.FitRes) error
	evaluate   func(ctx context.Context, ins flower.EvaluateIns, res *flower.EvaluateRes) error
}

func (r trainer) Properties(context.Context, flower.GetPropertiesIns) (flower.Config, error) {
	if r.properties == nil {
		return nil, flower.ErrNotImplemented
	}
	return r.properties, nil
}

func (r trainer) Parameters(context.Context, flower.GetParametersIns) (flower.Parameters, error) {
	if r.begin == nil {
		return flower.Parameters{}, flower.ErrNotImplemented
	}
	if len(r.begin) == 0 {
		return flower.FromTensors(), nil
	}
	return flower.FromTensors(tensor.FromFloat32s(r.begin)), nil
}

func (r trainer) Fit(ctx context.Context, ins flower.FitIns) (*flower.FitRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	trained := strategy.Map(model, func(values []float64, layer, from int) {
		model[layer].ReadFloat64s(values, from)
		for i := range values {
			values[i] += r.step
		}
	})
	res := &flower.FitRes{Parameters: flower.FromTensors(trained...), NumExamples: r.examples, Metrics: flower.Config{"step": r.step}}
	if r.fit != nil {
		err = r.fit(ctx, ins, res)
	}
	return res, err
}

// Evaluate says that the loss is the first number.
func (r trainer) Evaluate(ctx context.Context, ins flower.EvaluateIns) (*flower.EvaluateRes, error) {
	model, err := ins.Parameters.Decode()
	if err != nil {
		return nil, err
	}
	first := model[0].Float64s()[0]
	res := &flower.EvaluateRes{Loss: float32(first), NumExamples: r.examples, Metrics: flower.Config{"accuracy": first / 10}}
	if r.evaluate != nil {
		err = r.evaluate(ctx, ins, res)
	}
	return res, err
}

// join runs a client until the test ends or it is sent away, and returns how it
// ends, and what ends it.
func (w *world) join(t *testing.T, r flower.Trainer) (ended <-chan error, leave func()) {
	t.Helper()
	return w.joinAs(t, r, w.address)
}

// joinAs has the client call the server by another host name.
func (w *world) joinAs(t *testing.T, r flower.Trainer, host string) (<-chan error, func()) {
	t.Helper()
	return w.run(t, flower.ClientConfig{Target: host, Trainer: r})
}

// joinNamed has the client give itself a name.
func (w *world) joinNamed(t *testing.T, r flower.Trainer, name string) (<-chan error, func()) {
	t.Helper()
	return w.run(t, flower.ClientConfig{Target: w.address, Trainer: r, Name: name})
}

func (w *world) run(t *testing.T, config flower.ClientConfig) (<-chan error, func()) {
	t.Helper()
	config.Dial = func(ctx context.Context, _ string) (net.Conn, error) { return w.dial(ctx, w.address) }
	client, err := flower.NewClient(config)
	require.NoError(t, err)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { ended <- client.Run(ctx) })
	leave := func() {
		cancel()
		group.Wait()
	}
	t.Cleanup(leave)
	return ended, leave
}

// until waits for a status, by the channel of changes.
func (w *world) until(t *testing.T, id, what string, is func(flcollect.Status) bool) flcollect.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		changed := w.Changed(id)
		status, err := w.Status(ctx, id)
		require.NoError(t, err)
		if is(status) {
			return status
		}
		select {
		case <-changed:
		case <-ctx.Done():
			require.FailNow(t, "job "+id+" is never "+what, "%+v", status)
		}
	}
}

func (w *world) untilState(t *testing.T, id string, state report.State) flcollect.Status {
	t.Helper()
	return w.until(t, id, string(state), func(s flcollect.Status) bool { return s.State == state })
}

// weights returns the numbers of a job's model.
func (w *world) weights(t *testing.T, id string) []float64 {
	t.Helper()
	result, err := w.Result(t.Context(), id)
	require.NoError(t, err)
	return numbers(result.Weights)
}

func numbers(model strategy.Model) []float64 {
	var all []float64
	for _, layer := range model {
		all = append(all, layer.Float64s()...)
	}
	return all
}

// config is that of a FedAvg job for so many clients.
func config(rounds, clients int) jobconfig.Config {
	return jobconfig.Config{
		Strategy: "avg", ModelName: "m", ModelVersion: "1", Rounds: rounds, ConfigurationID: "7",
		StrategyConf: strategy.Conf{"min_fit_clients": clients, "min_evaluate_clients": clients, "min_available_clients": clients},
	}
}

// zeros is a model to begin with.
func zeros(context.Context, jobconfig.Config) (strategy.Model, error) {
	return strategy.Model{tensor.FromFloat32s([]float32{0, 0, 0}), tensor.FromFloat32s([]float32{1})}, nil
}

// log is what happened, in order.
type journal struct {
	mu      sync.Mutex
	entries []string
}

func (l *journal) add(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, fmt.Sprintf(format, args...))
}

func (l *journal) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.entries)
}

// errDown is what a neighbour that is down answers.
var errDown = errors.New("connection refused")

// neighbours are a repository and an orchestrator in one.
type neighbours struct {
	journal
	down    func(call string) error // nil for never
	models  map[string]strategy.Model
	mu      sync.Mutex
	results map[string]flcollect.Result
}

func (n *neighbours) fails(call string) error {
	if n.down == nil {
		return nil
	}
	return n.down(call)
}

func (n *neighbours) Store(_ context.Context, r flcollect.Result) error {
	if err := n.fails("store"); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.results == nil {
		n.results = map[string]flcollect.Result{}
	}
	n.results[r.TrainingID] = r
	n.add("store %s", r.TrainingID)
	return nil
}

func (n *neighbours) stored(id string) (flcollect.Result, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r, ok := n.results[id]
	return r, ok
}

func (n *neighbours) Model(_ context.Context, name, version string) (strategy.Model, error) {
	if err := n.fails("model"); err != nil {
		return nil, err
	}
	if m := n.models[name+"/"+version]; m != nil {
		return m, nil
	}
	return nil, flcollect.ErrNoModel
}

func (n *neighbours) Strategy(_ context.Context, name string, conf strategy.Conf) (strategy.Strategy, error) {
	if err := n.fails("strategy"); err != nil {
		return nil, err
	}
	if name != "ours" {
		return nil, flcollect.ErrNoStrategy
	}
	return strategy.New("FedAvg", conf)
}

func (n *neighbours) RoundDone(_ context.Context, r report.RoundDone) error {
	if err := n.fails("round"); err != nil {
		return err
	}
	n.add("round %d", r.Round)
	return nil
}

func (n *neighbours) EarlyEnd(_ context.Context, e report.EarlyEnd) error {
	if err := n.fails("early"); err != nil {
		return err
	}
	n.add("early %d %s", e.Round, e.Metric)
	return nil
}

// withLoss has a client send its loss with its update.
func withLoss(_ context.Context, _ flower.FitIns, res *flower.FitRes) error {
	res.Metrics["loss"] = 0.5
	return nil
}
