package flcollect_test

import (
	"archive/zip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/storage"
)

// fleetWorld is a world with a listener for SuperNodes.
type fleetWorld struct {
	*world
	apps     string
	nodes    port
	fleet    string // the address of that port
	endFleet func()
}

// newFleetWorld runs a server that has the app acme/vision, version 1.0.
func newFleetWorld(t *testing.T, options flcollect.Config) *fleetWorld {
	t.Helper()
	dir := t.TempDir()
	writeApp(t, dir)
	n := loopback{}
	return runFleetWorld(t, options, dir, n.listen(t), n.listen(t))
}

func runFleetWorld(t *testing.T, options flcollect.Config, apps string, clients, nodes port) *fleetWorld {
	t.Helper()
	w := &fleetWorld{apps: apps, nodes: nodes, fleet: nodes.Addr().String()}
	found, err := supernode.OpenApps(t.Context(), apps)
	require.NoError(t, err)
	var jobs *flcollect.Server
	options.Fleet, err = supernode.New(supernode.Config{Apps: found, Handle: func(ctx context.Context, node *supernode.Node) error {
		return jobs.HandleNode(ctx, node)
	}})
	require.NoError(t, err)
	if options.Documents == nil {
		options.Documents, options.Blobs = storage.NewMemoryDocuments(), storage.NewMemoryBlobs()
	}
	jobs, err = flcollect.NewServer(options)
	require.NoError(t, err)
	flowers, err := flower.NewServer(flower.ServerConfig{Handle: jobs.Handle})
	require.NoError(t, err)
	serving, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- options.Fleet.Serve(serving, nodes) }()
	w.world = serve(t, loopback{}, options, jobs, flowers, clients)
	w.endFleet = sync.OnceFunc(func() {
		w.end()
		stop()
		require.NoError(t, <-served)
	})
	t.Cleanup(w.endFleet)
	return w
}

// again ends the server and runs another on the same storage and addresses.
func (w *fleetWorld) again(t *testing.T, options flcollect.Config) *fleetWorld {
	t.Helper()
	w.endFleet()
	options.Documents, options.Blobs = w.documents, w.blobs
	w.port.Reopen()
	w.nodes.Reopen()
	return runFleetWorld(t, options, w.apps, w.port, w.nodes)
}

// writeApp writes the .fab file of an app that the nodes of these tests do not look into.
func writeApp(t *testing.T, dir string) {
	t.Helper()
	file, err := os.Create(filepath.Join(dir, "acme.vision.1-0.fab"))
	require.NoError(t, err)
	archive := zip.NewWriter(file)
	project := "[project]\nname = \"vision\"\nversion = \"1.0\"\n\n[tool.flwr.app]\npublisher = \"acme\"\n"
	list := fmt.Sprintf("pyproject.toml,%x,%d", sha256.Sum256([]byte(project)), 8*len(project))
	for _, entry := range [][2]string{{"pyproject.toml", project}, {".info/CONTENT", list}} {
		to, err := archive.Create(entry[0])
		require.NoError(t, err)
		_, err = to.Write([]byte(entry[1]))
		require.NoError(t, err)
	}
	require.NoError(t, archive.Close())
	require.NoError(t, file.Close())
}

// node runs a SuperNode until the test ends. It goes on while no server is there, as
// flower-supernode does.
func (w *fleetWorld) node(t *testing.T, app func(record.Message) (record.Dict, error)) *supernodetest.Client {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader) // the default of P-384 takes 20 times as long
	require.NoError(t, err)
	c, err := supernodetest.New(supernodetest.Config{Address: w.fleet, Key: key})
	require.NoError(t, err)
	require.NoError(t, c.Register(t.Context()))
	require.NoError(t, c.Activate(t.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			_ = c.Run(ctx, app) // a server that is away
		}
	})
	t.Cleanup(func() {
		cancel()
		group.Wait()
		c.Close()
	})
	return c
}

// namedLayers is a model whose layers have names.
func namedLayers(context.Context, jobconfig.Config) (strategy.Model, []string, error) {
	return strategy.Model{tensor.FromFloat32s([]float32{0, 0, 0}), tensor.FromFloat32s([]float32{1})},
		[]string{"body.weight", "head.bias"}, nil
}

// adder is an app of the Message API that adds a step to every number.
func adder(step float64, examples int64) func(record.Message) (record.Dict, error) {
	return func(m record.Message) (record.Dict, error) {
		arrays, ok := m.Content.Arrays("arrays")
		if !ok {
			return nil, errors.New("there is no model")
		}
		sent, err := arrays.Parameters()
		if err != nil {
			return nil, err
		}
		model, err := sent.Decode()
		if err != nil {
			return nil, err
		}
		metrics := record.Metrics{{Name: "num-examples", Value: examples}, {Name: "eval_loss", Value: model[0].Float64s()[0]}}
		if m.Metadata.Type == record.Evaluate {
			return record.Dict{{Name: "metrics", Value: metrics}}, nil
		}
		trained := strategy.Map(model, func(values []float64, layer, from int) {
			model[layer].ReadFloat64s(values, from)
			for i := range values {
				values[i] += step
			}
		})
		made, err := record.FromTensors(arrays.Names(), trained...)
		if err != nil {
			return nil, err
		}
		return record.Dict{{Name: "arrays", Value: made}, {Name: "metrics", Value: metrics}}, nil
	}
}

// withApp is the configuration of a job for so many clients, SuperNodes among them.
func withApp(rounds, clients int) jobconfig.Config {
	c := config(rounds, clients)
	c.App = "acme/vision"
	return c
}

func TestServer_HandleNode_trainsWithSuperNodesAndClientsTogether(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	var names [2]journal
	for i := range names {
		app := adder(1, 10)
		w.node(t, func(m record.Message) (record.Dict, error) {
			arrays, _ := m.Content.Arrays("arrays")
			round, _ := m.Content.Config("config")
			number, _ := round.Get("server-round")
			names[i].add("%s %v %v", m.Metadata.Type, number, strings.Join(arrays.Names(), " "))
			return app(m)
		})
	}
	require.NoError(t, w.Start(t.Context(), "a", withApp(2, 3)))
	status := w.until(t, "a", "waiting for one", func(s flcollect.Status) bool { return s.Clients == 2 })
	require.Equal(t, 3, status.Needed)
	for _, c := range w.Clients("a") {
		require.Regexp(t, `^supernode:\d+$`, c.Session)
		require.Regexp(t, `^key:[0-9a-f]{64}$`, c.Identity)
	}
	ended, _ := w.join(t, trainer{step: 4, examples: 20})
	w.untilState(t, "a", report.Finished)
	require.NoError(t, <-ended)
	require.InDeltaSlice(t, []float64{5, 5, 5, 6}, w.weights(t, "a"), 1e-6)
	for i := range names {
		require.Equal(t, []string{
			"train 1 body.weight head.bias", "evaluate 1 body.weight head.bias",
			"train 2 body.weight head.bias", "evaluate 2 body.weight head.bias",
		}, names[i].all())
	}
	found, err := w.Report(t.Context(), "a", 2, 0, 0)
	require.NoError(t, err)
	require.Len(t, found.Clients, 3)
}

func TestServer_HandleNode_hasANodeWaitForTheNextJob(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	w.node(t, adder(1, 10))
	waits := func() bool { return w.Totals().Lobby == 1 }
	require.Eventually(t, waits, patience, time.Millisecond)
	require.NoError(t, w.Start(t.Context(), "without", config(1, 1)))
	require.NoError(t, w.Start(t.Context(), "first", withApp(1, 1)))
	w.untilState(t, "first", report.Finished)
	require.Eventually(t, waits, patience, time.Millisecond)
	second := withApp(2, 1)
	second.App += "==1.0"
	require.NoError(t, w.Start(t.Context(), "second", second))
	w.untilState(t, "second", report.Finished)
	require.InDeltaSlice(t, []float64{2, 2, 2, 3}, w.weights(t, "second"), 1e-6)
	status, err := w.Status(t.Context(), "without")
	require.NoError(t, err)
	require.Zero(t, status.Clients, "a job without an app gets no SuperNode")
	require.NoError(t, w.StopJob(t.Context(), "without"))
}

func TestServer_Run_goesOnWithSuperNodesThatStay(t *testing.T) {
	options := flcollect.Config{InitialNamed: namedLayers}
	w := newFleetWorld(t, options)
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var runs journal
	for range 2 {
		app := adder(1, 10)
		w.node(t, func(m record.Message) (record.Dict, error) {
			runs.add("%d", m.Metadata.RunID)
			if m.Metadata.GroupID == "2" && m.Metadata.Type == record.Train {
				once.Do(func() { close(held) })
				<-release
			}
			return app(m)
		})
	}
	require.NoError(t, w.Start(t.Context(), "a", withApp(3, 2)))
	<-held
	w = w.again(t, options)
	close(release)
	w.untilState(t, "a", report.Finished)
	require.InDeltaSlice(t, []float64{3, 3, 3, 4}, w.weights(t, "a"), 1e-6)
	all := runs.all()
	for _, run := range all {
		require.Equal(t, all[0], run, "the number of the run outlives the server")
	}
}

func TestServer_Start_refusesAppsThatItDoesNotHave(t *testing.T) {
	bad := withApp(1, 1)
	bad.App = "acme/speech"
	err := newFleetWorld(t, flcollect.Config{}).Start(t.Context(), "a", bad)
	details := detail.All(err)
	require.Len(t, details, 1)
	require.Equal(t, []any{"body", "app"}, details[0].Loc)
	require.Contains(t, details[0].Msg, "acme/vision==1.0", "it names what is there")

	err = newWorld(t, flcollect.Config{}).Start(t.Context(), "a", bad)
	require.Contains(t, detail.All(err)[0].Msg, "no listener for SuperNodes")
}

// Apps of the Message API cannot be asked for a model: the status says what the job needs.
func TestServer_Status_saysThatAnAppHasNoModelToBeginWith(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{})
	w.node(t, adder(1, 10))
	require.NoError(t, w.Start(t.Context(), "a", withApp(1, 2)))
	status := w.until(t, "a", "in trouble", func(s flcollect.Status) bool { return s.Error != "" })
	require.Contains(t, status.Error, `no model "m" of version "1" to begin with`)
	require.Contains(t, status.Error, "apps of the Message API have none to give")
	w.join(t, trainer{step: 3, examples: 10, begin: []float32{7}})
	status = w.untilState(t, "a", report.Finished)
	require.Empty(t, status.Error)
	require.InDeltaSlice(t, []float64{9}, w.weights(t, "a"), 1e-6)
}

// With "fitins" the app is a Client behind a client_fn, which has a model.
func TestServer_HandleNode_asksAppsWithAClientFnForTheirModel(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{})
	ok := record.Config{{Name: "code", Value: int64(0)}, {Name: "message", Value: ""}}
	number := func(value any, name string) record.Metrics { return record.Metrics{{Name: name, Value: value}} }
	w.node(t, func(m record.Message) (record.Dict, error) {
		switch m.Metadata.Type {
		case record.GetParameters:
			return record.Dict{
				{Name: "getparametersres.status", Value: ok},
				{Name: "getparametersres.parameters", Value: record.FromParameters(flower.FromTensors(tensor.FromFloat32s([]float32{5})))},
			}, nil
		case record.Train:
			return record.Dict{
				{Name: "fitres.status", Value: ok},
				{Name: "fitres.parameters", Value: record.FromParameters(flower.FromTensors(tensor.FromFloat32s([]float32{6})))},
				{Name: "fitres.num_examples", Value: number(int64(3), "num_examples")},
				{Name: "fitres.metrics", Value: record.Config{}},
			}, nil
		}
		return record.Dict{
			{Name: "evaluateres.status", Value: ok},
			{Name: "evaluateres.loss", Value: number(0.5, "loss")},
			{Name: "evaluateres.num_examples", Value: number(int64(3), "num_examples")},
			{Name: "evaluateres.metrics", Value: record.Config{}},
		}, nil
	})
	c := withApp(1, 1)
	c.Records = "fitins"
	require.NoError(t, w.Start(t.Context(), "a", c))
	w.untilState(t, "a", report.Finished)
	require.Equal(t, []float64{6}, w.weights(t, "a"))
}

func TestServer_HandleNode_refusesAnswersWithOtherLayers(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	w.node(t, adder(1, 10))
	other := adder(1, 10)
	w.node(t, func(m record.Message) (record.Dict, error) {
		content, err := other(m)
		if arrays, has := content.Arrays("arrays"); has {
			arrays[1].Name = "head.weight"
		}
		return content, err
	})
	require.NoError(t, w.Start(t.Context(), "a", withApp(1, 2)))
	w.untilState(t, "a", report.Finished)
	rounds, err := w.Rounds(t.Context(), "a", 0, 0)
	require.NoError(t, err)
	require.Equal(t, 1, int(rounds[0].Fit.Failures))
	require.Contains(t, rounds[0].Note, `no layer "head.bias"`)
	require.InDeltaSlice(t, []float64{1, 1, 1, 2}, w.weights(t, "a"), 1e-6)
}

// An app may answer with all layers, as that of a state_dict, in an order of its own.
func TestServer_HandleNode_dropsLayersThatStayAtHome(t *testing.T) {
	w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
	sent := make(chan []string, 10)
	shared := adder(1, 10)
	w.node(t, func(m record.Message) (record.Dict, error) {
		arrays, _ := m.Content.Arrays("arrays")
		sent <- arrays.Names()
		content, err := shared(m)
		if made, has := content.Arrays("arrays"); has {
			own, err := record.FromTensors([]string{"head.bias"}, tensor.FromFloat32s([]float32{9}))
			if err != nil {
				return nil, err
			}
			content[0].Value = append(own, made...)
		}
		return content, err
	})
	job := withApp(1, 1)
	job.LocalLayers = []string{"head.bias"}
	require.NoError(t, w.Start(t.Context(), "a", job))
	status := w.untilState(t, "a", report.Finished)
	require.Equal(t, []string{"body.weight"}, <-sent)
	require.Equal(t, 1, status.Updates.Dropped)
	require.InDeltaSlice(t, []float64{1, 1, 1}, w.weights(t, "a"), 1e-6)
}

func TestServer_Start_correctsTheBiasOfFedAdamForSuperNodes(t *testing.T) {
	for name, c := range map[string]struct {
		given any
		want  float64
	}{
		"by default": {nil, 0.0742459788}, // 0.1·√(1-0.99²)/(1-0.9²)
		"not":        {false, 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFleetWorld(t, flcollect.Config{InitialNamed: namedLayers})
			for range 2 {
				w.node(t, adder(1, 10))
			}
			job := withApp(1, 2)
			job.Strategy = "FedAdam"
			job.StrategyConf["bias_correction"] = c.given
			require.NoError(t, w.Start(t.Context(), "a", job))
			status := w.untilState(t, "a", report.Finished)
			require.Equal(t, c.given == nil, strings.Contains(status.Note, "FedAdam corrects the bias"), status.Note)
			require.InDelta(t, c.want, w.weights(t, "a")[0], 1e-6)
		})
	}
}
