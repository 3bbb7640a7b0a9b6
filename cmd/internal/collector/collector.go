package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/console"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/overview"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/orchestrator"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// The name of the block in headers and overviews, and the folder of its pages.
const (
	Name   = "Training"
	folder = "training/"
)

// Collector is the collector as a [host.Opener]. Web, Clients and Fleet are required; the zero
// values of the other fields are the defaults.
type Collector struct {
	// Training configures the jobs, and Gate the server for Flower clients. Open sets what is
	// not a setting.
	Training flcollect.Config
	Gate     flower.ServerConfig
	// Repository and Orchestrator are those in other processes. Without a BaseURL the repository
	// is that of the collector itself, and there is no orchestrator.
	Repository   repository.ClientConfig
	Orchestrator orchestrator.Config
	// Models is a folder with parameters that jobs begin with, those of a model in
	// MODEL/VERSION.npz. Empty means none.
	Models string
	// Apps is a folder of the apps for SuperNodes, .fab files. Empty means that there are none.
	Apps string
	// Keys is a file with the public keys of the only SuperNodes that may take part. Empty means
	// all of them where clients need nothing, and none otherwise.
	Keys string
	// Access says whether every Flower client may train. AccessFlag is the flag that has it, for the
	// log.
	Access     ClientAccess
	AccessFlag string
	// Certificate is that of the listener for Flower clients. Empty means that of the door, and an
	// empty Prefix that no flag names one. With
	// ClientRequired the certificates of clients decide, and not the door. SuperNodes are asked
	// for none.
	Certificate server.TLS
	// Web has the interface and the pages. Flower clients connect to Clients, and SuperNodes to
	// Fleet, see [NewFleet].
	Web, Clients *host.Listener
	Fleet        *Fleet
	// Jobs are set by Open.
	Jobs *flcollect.Server

	env          *host.Env
	log          *slog.Logger
	certificates *server.Certificates // of Certificate
	tls          *tls.Config          // for Flower clients
	keys         *NodeKeys            // nil without a file of them
	repository   *repository.Store    // nil with another repository
	gate         *flower.Server
	fleet        *supernode.Server // nil without SuperNodes
	over         context.Context   // ends with the jobs
	end          context.CancelFunc
}

// ReadFiles implements host.FileReader.
func (c *Collector) ReadFiles(ctx context.Context, env *host.Env) (err error) {
	if c.Keys != "" {
		if c.keys, err = OpenNodeKeys(ctx, c.Keys); err != nil {
			return cli.Usage(fmt.Errorf("-%s-keys: %w", c.Fleet.Flag, err))
		}
	}
	c.Clients.Unguarded = c.isOpenToClients()
	c.Fleet.Unguarded = c.keys != nil || c.Access.IsOpen()
	c.certificates, err = c.Certificate.Open(env.Logger)
	return err
}

// Prepare implements host.Preparer.
func (c *Collector) Prepare(_ context.Context, env *host.Env) error { return env.Stores.OpenWork() }

// isOpenToClients reports whether the door does not decide on Flower clients: every one may train,
// or every one whose certificate is accepted.
func (c *Collector) isOpenToClients() bool { return c.Certificate.ClientRequired || c.Access.IsOpen() }

// isOpenToNodes reports whether every SuperNode may take part, unless there are keys.
func (c *Collector) isOpenToNodes() bool {
	return c.Access.IsOpen() || c.env.Door.IsOpen() && !c.Certificate.ClientRequired
}

// ClientTLS returns the configuration of the listener for Flower clients, nil without TLS. The
// door of the environment is open.
func (c *Collector) ClientTLS(env *host.Env) *tls.Config {
	if own := c.certificates.Config(); own != nil {
		return own
	}
	return env.Door.TLS()
}

// Open implements host.Opener.
func (c *Collector) Open(ctx context.Context, env *host.Env) (*host.Block, error) {
	c.env, c.tls = env, c.ClientTLS(env)
	c.log = env.BlockLogger(overview.Source{Block: Name, Href: overview.Page(folder, "live/", "job")})
	if err := c.open(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", env.Stores.Flag, err)
	}
	c.logClients()
	c.logNodes()
	return &host.Block{
		Pages: []console.Part{{Section: Name, Path: "training", Handler: c.page()}},
		Run:   c.parts(), Overview: c.overview(ctx),
	}, nil
}

// open composes the collector.
func (c *Collector) open(ctx context.Context) error {
	c.over, c.end = context.WithCancel(context.Background())
	kept := c.env.Stores
	spill, err := emptyFolder(kept.Work)
	if err != nil {
		return err
	}
	if err := c.openFleet(); err != nil {
		return err
	}
	jobs := &c.Training
	jobs.Documents, jobs.Blobs = storage.Prefixed(kept.Documents, "collector/"), storage.PrefixedBlobs(kept.Blobs, "collector/")
	jobs.InitialNamed, jobs.Fleet, jobs.Dir = c.initial, c.fleet, spill
	jobs.TracerProvider, jobs.Logger = server.TracerProvider(ctx), c.log
	if c.Orchestrator.BaseURL != "" {
		if jobs.Orchestrator, err = orchestrator.NewClient(c.Orchestrator); err != nil {
			return err
		}
	}
	if jobs.Repository, err = c.openRepository(spill); err != nil {
		return err
	}
	if c.Jobs, err = flcollect.NewServer(*jobs); err != nil {
		return err
	}
	gate := c.Gate
	gate.Fleet, gate.TLS, gate.ConnState, gate.Logger = c.fleetEndpoint().Address, c.tls, server.ConnState, c.log
	gate.Handle, gate.Relay, gate.Authorize = c.Jobs.Handle, c.Jobs.TrustsRelay, c.authorizeClient()
	c.gate, err = flower.NewServer(gate)
	return err
}

// openRepository returns the repository that results go to.
func (c *Collector) openRepository(spill string) (flcollect.Repository, error) {
	if c.Repository.BaseURL != "" {
		other := c.Repository
		other.Dir = spill
		return newRemote(other, c.log)
	}
	store, err := repository.New(repository.Config{
		Documents:  storage.Prefixed(c.env.Stores.Documents, "repository/"),
		Blobs:      storage.PrefixedBlobs(c.env.Stores.Blobs, "repository/"),
		Strategies: loadStrategy,
		Dir:        spill, Logger: c.log,
	})
	c.repository = store
	return store, err
}

// emptyFolder returns a folder for the files of rounds. What a crash has left
// there is removed: the folder above is that of this process alone.
func emptyFolder(dir string) (string, error) {
	spill := filepath.Join(dir, "rounds")
	if err := os.RemoveAll(spill); err != nil {
		return "", err
	}
	return spill, os.MkdirAll(spill, 0o700)
}

// parts returns what runs: the web interface, and the jobs with their clients. They stop in the
// opposite order, so that the interface answers while the clients are disconnected.
func (c *Collector) parts() []server.Part {
	var parts []server.Part
	if c.repository != nil {
		parts = append(parts, server.Part{Name: "repository", Run: c.repository.Run})
	}
	parts = append(parts,
		c.env.Web(c.Web.Listener, c.handler()),
		server.Part{Name: "collector", Run: c.run, Ready: c.Jobs.Ready})
	if c.keys != nil {
		parts = append(parts, server.Reloading("keys of SuperNodes", c.keys.Reload))
	}
	if c.certificates != nil {
		parts = append(parts, server.Reloading("certificate for Flower clients", c.certificates.Reload))
	}
	return parts
}

// run runs the jobs, and serves clients until they are disconnected.
func (c *Collector) run(ctx context.Context) error {
	defer c.end() // there are no more events
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	gate, fleet := make(chan error, 1), make(chan error, 1)
	go func() {
		gate <- c.gate.Serve(serving, server.KeepAccepting(c.Clients.Listener, c.log))
		cancel()
	}()
	go func() {
		if c.fleet == nil {
			fleet <- nil
			return
		}
		fleet <- c.fleet.Serve(serving, server.KeepAccepting(c.Fleet.Listener, c.log))
		cancel()
	}()
	err := c.Jobs.Run(ctx)
	stop()
	return errors.Join(err, <-gate, <-fleet)
}

// overview returns the function that describes the block.
func (c *Collector) overview(ctx context.Context) func() overview.Block {
	results := overview.Tally(ctx, func(ctx context.Context) ([]overview.Fact, error) {
		if c.repository == nil {
			return nil, nil
		}
		n, err := c.repository.Results(ctx)
		return []overview.Fact{{Name: "results", Value: uint64(n), Href: folder}}, err
	})
	address := c.env.Door.URL(c.Web)
	return func() overview.Block {
		totals := c.Jobs.Totals()
		jobs := 0
		for _, n := range totals.Jobs {
			jobs += n
		}
		b := overview.Block{
			Name: Name, Summary: "Federated learning with Flower clients, and the FL repository for its results.",
			Href: folder, Address: address,
			Links: []overview.Link{
				{Text: "Interface", Href: address + "/docs/"},
				{Text: "FL repository", Href: address + "/repository/docs/"},
				{Text: "Metrics", Href: address + "/metrics"},
			},
			Facts: []overview.Fact{
				{Name: "jobs", Value: uint64(jobs), Href: folder},
				{Name: "training now", Value: uint64(totals.Jobs[report.Training]), Href: folder},
				{Name: "clients", Value: uint64(totals.Clients), Href: folder},
			},
		}
		results.Show(&b)
		if err := c.Jobs.Ready(); err != nil {
			b.Fault = err.Error()
		}
		return b
	}
}
