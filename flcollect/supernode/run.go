package supernode

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
	"github.com/iotenablers/enablers/flcollect/record"
)

// Records is how the messages of a run carry a model.
type Records string

// The kinds of apps.
const (
	// Arrays is what flwr.serverapp.FedAvg sends to apps of the Message API
	// (@app.train): an ArrayRecord "arrays" and a ConfigRecord "config".
	Arrays Records = "arrays"
	// FitIns is for apps with a client_fn, which returns a Client or a NumPyClient: the
	// records "fitins.parameters", "fitins.config" and so on.
	FitIns Records = "fitins"
)

// ErrClosed is the cause with which the members of a run end when the run is closed.
var ErrClosed = fmt.Errorf("%w: the run is over", flower.ErrGone)

// RunConfig describes a run.
type RunConfig struct {
	// ID is the number of the run, greater than 0. With the same number after a restart
	// of the program, SuperNodes go on with what they have. Required.
	ID uint64
	// Series is common to runs whose apps share their state at a SuperNode, as
	// Context.state. Zero means ID.
	Series uint64
	// App names the app, as [Apps.Find] takes it. Required.
	App string
	// Records is how messages carry the model. Empty means [Arrays].
	Records Records
	// Names are the names of the model's layers with [Arrays], in the order of the
	// tensors. Nil means "0", "1" and so on.
	Names []string
	// Whole are the names of all layers that an app has, those of Names and those that
	// stay at the nodes, in the order of its model. An answer with all of them has its
	// tensors in this order. Nil means that there are no others.
	Whole []string
	// Config replaces values of the app's configuration (run_config), by their names
	// with dots between the levels. Values are float64, int64, uint64, bool or string.
	Config flower.Config
}

// Run is a run of an app on nodes, such as a job. It is safe for concurrent use. Make one
// with [Server.OpenRun].
type Run struct {
	s      *Server
	config RunConfig
	app    *App
	fab    []byte // the file of the app: it may be replaced while the run lasts
	round  atomic.Int64

	members map[uint64]*Member // guarded by the server
	closed  bool               // guarded by the server

	mu       sync.Mutex
	prepared map[modelKey]*prepared
	noted    map[string]bool
}

// OpenRun begins a run. It must be closed. It is an error if another run has the number,
// or there is no such app.
func (s *Server) OpenRun(config RunConfig) (*Run, error) {
	if config.ID == 0 {
		return nil, errors.New("open a run: it has the ID 0")
	}
	if config.Series == 0 {
		config.Series = config.ID
	}
	switch config.Records {
	case "":
		config.Records = Arrays
	case Arrays, FitIns:
	default:
		return nil, fmt.Errorf("open run %d: records are %q, expected %q or %q", config.ID, config.Records, Arrays, FitIns)
	}
	app, err := s.config.Apps.Find(config.App)
	if err != nil {
		return nil, fmt.Errorf("open run %d: %w", config.ID, err)
	}
	fab, err := app.Content()
	if err != nil {
		return nil, fmt.Errorf("open run %d: %w", config.ID, err)
	}
	run := &Run{
		s: s, config: config, app: app, fab: fab,
		members: map[uint64]*Member{}, prepared: map[modelKey]*prepared{}, noted: map[string]bool{},
	}
	if _, err := run.describe(); err != nil {
		return nil, fmt.Errorf("open run %d: %w", config.ID, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return nil, fmt.Errorf("open run %d: %w", config.ID, flower.ErrStopped)
	}
	if s.runs[config.ID] != nil {
		return nil, fmt.Errorf("open run %d: it is open already", config.ID)
	}
	s.runs[config.ID] = run
	return run, nil
}

// App returns the app of the run.
func (r *Run) App() *App { return r.app }

// SetRound says which round the messages from now on belong to. SuperNodes show it, and
// apps find it as "server-round" with [Arrays].
func (r *Run) SetRound(number int) { r.round.Store(int64(number)) }

// Join makes a node a member of the run. A node may be in several runs; it works on one
// message at a time. It is an error if the node is gone, in this run already, or the run
// is closed.
func (r *Run) Join(node *Node) (*Member, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	switch {
	case r.closed:
		return nil, fmt.Errorf("join run %d: %w", r.config.ID, ErrClosed)
	case node.ctx.Err() != nil:
		return nil, fmt.Errorf("join run %d: %w", r.config.ID, context.Cause(node.ctx))
	case r.members[node.id] != nil && r.members[node.id].ctx.Err() == nil:
		return nil, fmt.Errorf("join run %d: %v is in it already", r.config.ID, node)
	}
	m := &Member{run: r, node: node}
	m.ctx, m.end = context.WithCancelCause(node.ctx)
	r.members[node.id] = m
	context.AfterFunc(m.ctx, m.forget)
	return m, nil
}

// Close ends the run: its members are done, their messages fail with [ErrClosed], and
// nodes drop what they have of it. A second call does nothing.
func (r *Run) Close() {
	r.s.mu.Lock()
	if r.s.runs[r.config.ID] == r {
		delete(r.s.runs, r.config.ID)
	}
	r.closed = true
	members := r.members
	r.members = map[uint64]*Member{}
	r.s.mu.Unlock()
	for _, m := range members {
		m.end(ErrClosed)
	}
}

// describe returns the answer to GetRun.
func (r *Run) describe() (flower.Blob, error) {
	var w wire.Writer
	err := w.Message(1, func(w *wire.Writer) error {
		w.Uint(1, r.config.ID)
		if err := errors.Join(w.Text(2, r.app.ID), w.Text(3, r.app.Version), scalars(w, 4, r.config.Config)); err != nil {
			return err
		}
		if err := w.Text(5, r.app.Hash); err != nil {
			return err
		}
		if err := w.Message(10, func(w *wire.Writer) error { return w.Text(1, "running") }); err != nil {
			return err
		}
		w.Uint(18, r.config.Series)
		return nil
	})
	return w.Chunks(), err
}

// modelKey tells models apart by where they lie in memory. It holds as long as a message
// refers to the model, which must not be changed so long.
type modelKey struct {
	tensors *flower.Blob
	count   int
	first   *byte
}

// prepared is a model that was deflated once for all nodes.
type prepared struct {
	refs int
	once sync.Once
	made *record.Prepared
	size int64
	err  error
}

// model returns the record of a model, which is hashed once for all messages that are
// under way with it. The function must be called at the end of the message.
func (r *Run) model(p flower.Parameters) (record.Record, int64, func(), error) {
	if len(p.Tensors) == 0 {
		arrays, err := r.arrays(p)
		return arrays, 0, func() {}, err
	}
	key := modelKey{tensors: &p.Tensors[0], count: len(p.Tensors)}
	for _, chunk := range p.Tensors[0] {
		if len(chunk) > 0 {
			key.first = &chunk[0]
			break
		}
	}
	r.mu.Lock()
	known := r.prepared[key]
	if known == nil {
		known = &prepared{}
		r.prepared[key] = known
	}
	known.refs++
	r.mu.Unlock()
	release := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if known.refs--; known.refs == 0 {
			delete(r.prepared, key)
		}
	}
	known.once.Do(func() {
		arrays, err := r.arrays(p)
		if err == nil {
			known.size = arrays.Size()
			known.made, err = record.Prepare(arrays)
		}
		known.err = err
	})
	if known.err != nil {
		release()
		return nil, 0, nil, known.err
	}
	return known.made, known.size, release, nil
}

// arrays returns the model as the run's messages carry it.
func (r *Run) arrays(p flower.Parameters) (record.Arrays, error) {
	if r.config.Records == FitIns {
		return record.FromParameters(p), nil
	}
	tensors, err := p.Decode()
	if err != nil {
		return nil, err
	}
	return record.FromTensors(r.config.Names, tensors...)
}
