package supernode_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/record"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/flcollect/supernode/supernodetest"
	"github.com/iotenablers/enablers/flcollect/tensor"
	"github.com/iotenablers/enablers/internal/server/servertest"
)

// limit bounds what a test waits for.
const limit = 30 * time.Second

// project returns the pyproject.toml of an app.
func project(publisher, name, version string) string {
	return fmt.Sprintf("[project]\nname = %q\nversion = %q\n\n[tool.flwr.app]\npublisher = %q\n", name, version, publisher)
}

// bundle returns a FAB of the files, which `flwr build` would make.
func bundle(t testing.TB, files ...[2]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	archive := zip.NewWriter(&buffer)
	var lines []string
	for _, file := range files {
		w, err := archive.Create(file[0])
		require.NoError(t, err)
		_, err = w.Write([]byte(file[1]))
		require.NoError(t, err)
		lines = append(lines, fmt.Sprintf("%s,%x,%d", file[0], sha256.Sum256([]byte(file[1])), len(file[1])*8))
	}
	w, err := archive.Create(".info/CONTENT")
	require.NoError(t, err)
	_, err = w.Write([]byte(strings.Join(lines, "\n")))
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return buffer.Bytes()
}

// addApp writes a FAB into a folder and returns its content.
func addApp(t testing.TB, dir, publisher, name, version string) []byte {
	t.Helper()
	content := bundle(t, [2]string{"pyproject.toml", project(publisher, name, version)}, [2]string{"app/client.py", "app = 1\n"})
	file := fmt.Sprintf("%s.%s.%s.fab", publisher, name, strings.ReplaceAll(version, ".", "-"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, file), content, 0o600))
	return content
}

// world is a server with one app, "acme/vision".
type world struct {
	*supernode.Server
	t       *testing.T
	port    *servertest.Port
	address string
	fab     []byte
	joined  chan *supernode.Node
	stop    func()
}

// start runs a server with the configuration until the end of the test.
func start(t *testing.T, config supernode.Config) *world {
	t.Helper()
	return startOn(t, config, servertest.Listen(t))
}

// again runs another server at the address of one that has stopped.
func (w *world) again(config supernode.Config) *world {
	w.t.Helper()
	w.port.Reopen()
	return startOn(w.t, config, w.port)
}

func startOn(t *testing.T, config supernode.Config, port *servertest.Port) *world {
	t.Helper()
	w := &world{t: t, port: port, address: port.Addr().String(), joined: make(chan *supernode.Node, 100)}
	dir := t.TempDir()
	w.fab = addApp(t, dir, "acme", "vision", "1.0")
	var err error
	config.Apps, err = supernode.OpenApps(t.Context(), dir)
	require.NoError(t, err)
	if config.Handle == nil {
		config.Handle = func(ctx context.Context, node *supernode.Node) error {
			w.joined <- node
			<-ctx.Done()
			return nil
		}
	}
	w.Server, err = supernode.New(config)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx, port) }()
	stopped := false
	w.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		require.NoError(t, <-served)
	}
	t.Cleanup(w.stop)
	return w
}

// transports runs a test over HTTP and over gRPC.
func transports(t *testing.T, test func(t *testing.T, grpc bool)) {
	t.Run("HTTP", func(t *testing.T) { test(t, false) })
	t.Run("gRPC", func(t *testing.T) { test(t, true) })
}

// client returns a client of the server.
func (w *world) client(config supernodetest.Config) *supernodetest.Client {
	w.t.Helper()
	config.Address = w.address
	if w.port == nil {
		config.Handler = w.Server // without a network
	}
	c, err := supernodetest.New(config)
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	return c
}

// node activates a node, and returns both ends.
func (w *world) node(config supernodetest.Config) (*supernodetest.Client, *supernode.Node) {
	w.t.Helper()
	c := w.client(config)
	require.NoError(w.t, c.Register(w.t.Context()))
	require.NoError(w.t, c.Activate(w.t.Context()))
	return c, w.arrival()
}

// arrival returns the next node that Handle is called for.
func (w *world) arrival() *supernode.Node {
	w.t.Helper()
	select {
	case node := <-w.joined:
		return node
	case <-time.After(limit):
		require.Fail(w.t, "no node has come")
		return nil
	}
}

// run opens a run of the app.
func (w *world) run(config supernode.RunConfig) *supernode.Run {
	w.t.Helper()
	if config.ID == 0 {
		config.ID = 7
	}
	config.App = "acme/vision"
	run, err := w.OpenRun(config)
	require.NoError(w.t, err)
	w.t.Cleanup(run.Close)
	return run
}

// join makes a node a member of a run.
func (w *world) join(run *supernode.Run, node *supernode.Node) *supernode.Member {
	w.t.Helper()
	m, err := run.Join(node)
	require.NoError(w.t, err)
	return m
}

// works has a client answer until the end of the test, or until the function is called.
func (w *world) works(c *supernodetest.Client, app func(record.Message) (record.Dict, error)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, app) }()
	over := false
	stop = func() {
		if !over {
			over = true
			cancel()
			require.NoError(w.t, <-ended)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// bounded returns a context for one step of a test.
func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// addOne is an app that adds 1 to every element, as an app of the Message API.
func addOne(m record.Message) (record.Dict, error) {
	arrays, ok := m.Content.Arrays("arrays")
	if !ok {
		return nil, fmt.Errorf("KeyError: 'arrays'")
	}
	p, err := arrays.Parameters()
	if err != nil {
		return nil, err
	}
	model, err := p.Decode()
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for i, layer := range model {
		values := make([]float32, layer.Len())
		for k, v := range layer.Float64s() {
			sum += v
			values[k] = float32(v) + 1
		}
		model[i] = tensor.FromFloat32s(values, layer.Shape()...)
	}
	if m.Metadata.Type == record.Evaluate {
		metrics := record.Metrics{{Name: "eval_loss", Value: sum}, {Name: "num-examples", Value: int64(4)}}
		return record.Dict{{Name: "metrics", Value: metrics}}, nil
	}
	changed, err := record.FromTensors(arrays.Names(), model...)
	return record.Dict{
		{Name: "arrays", Value: changed},
		{Name: "metrics", Value: record.Metrics{{Name: "num-examples", Value: int64(10)}, {Name: "acc", Value: 0.5}}},
	}, err
}

// model returns a model of a layer with n elements and one with two.
func model(n int) flower.Parameters {
	return flower.FromTensors(tensor.FromFloat32s(make([]float32, n), n), tensor.FromFloat32s([]float32{1, 2}, 2))
}
