package collector

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/flcollect"
	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/orchestrator"
	"github.com/iotenablers/enablers/flcollect/repository"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// Config configures a [Collector]. Documents, Blobs, Dir, Door and Logger are required.
type Config struct {
	// Documents and Blobs store everything. The caller closes them after the parts have
	// ended. One collector at a time uses them, unless all of them have Sharing.
	Documents storage.Documents
	Blobs     storage.Blobs
	// Dir is a folder of this process, for the files of rounds, which it removes when it
	// starts.
	Dir string
	// Door decides on the callers of the web interface and on Flower clients, and has the
	// certificate of the web interface. The caller closes it after the parts have ended.
	Door *door.Door
	// OpenToClients says that every Flower client may train, or every one whose
	// certificate TLS accepts: Door does not decide on them.
	OpenToClients bool
	// TLS is that for Flower clients. Nil means that of Door. SuperNodes are asked for no
	// certificate.
	TLS *tls.Config
	// Fleet is the listener for SuperNodes. Nil takes none of them.
	Fleet net.Listener
	// FleetKeys has the only SuperNodes that may take part. Nil means all of them with
	// OpenToNodes, and none without it.
	FleetKeys *NodeKeys
	// OpenToNodes says that every SuperNode may take part, unless there are FleetKeys.
	OpenToNodes bool
	// Apps is a folder of the apps for SuperNodes, .fab files. Empty means that there are
	// none.
	Apps string
	// Repository and Orchestrator are URLs. Empty means the repository of the
	// collector itself, and no orchestrator.
	Repository, Orchestrator string
	// RepositoryToken and OrchestratorToken are sent there. Empty means none.
	RepositoryToken, OrchestratorToken string
	// Models is a folder with parameters that jobs begin with, those of a model
	// in MODEL/VERSION.npz. Empty means none.
	Models string
	// ClientTimeout and Park are as in flcollect.Config.
	ClientTimeout, Park time.Duration
	// Clip, TrustClients, NoAudit and NoEdges are as in flcollect.Config.
	Clip, TrustClients, NoAudit, NoEdges bool
	// Upstream is as in flcollect.Config.
	Upstream *flcollect.Upstream
	// Sharing makes the collector one of several. Nil means that it is alone.
	Sharing *Sharing
	// Clients is where Flower clients connect, for the commands that the pages show. Nil
	// has them show none.
	Clients net.Addr
	// MaxContext is as in flcollect.Config.
	MaxContext int64
	// MaxMessage and Uploads are as in flower.ServerConfig.
	MaxMessage, Uploads int64
	// Hosts is as in rest.HandlerOptions, and for the repository of the
	// collector itself.
	Hosts []string
	// TracerProvider is as in flcollect.Config.
	TracerProvider trace.TracerProvider
	// Logger logs what happens.
	Logger *slog.Logger
}

// Sharing is how a collector shares its stores with others.
type Sharing struct {
	// Name, Lease and Advertise are as in flcollect.Config.
	Name      string
	Lease     time.Duration
	Advertise string
	// TLS is flcollect.Config.RelayTLS.
	TLS *tls.Config
}

// Collector is a collector over open stores. Make one with [New].
type Collector struct {
	// Jobs are the jobs.
	Jobs *flcollect.Server

	repository *repository.Store // nil with another repository
	gate       *flower.Server
	fleet      *supernode.Server // nil without SuperNodes
	config     Config
	log        *slog.Logger
	over       context.Context // ends with the jobs
	end        context.CancelFunc
}

// New composes the collector. It starts nothing.
func New(config Config) (_ *Collector, err error) {
	if config.TLS == nil {
		config.TLS = config.Door.TLS()
	}
	c := &Collector{config: config, log: config.Logger}
	c.over, c.end = context.WithCancel(context.Background())
	spill, err := emptyFolder(config.Dir)
	if err != nil {
		return nil, err
	}
	if err := c.openFleet(config); err != nil {
		return nil, err
	}
	options := flcollect.Config{
		Documents:    storage.Prefixed(config.Documents, "collector/"),
		Blobs:        storage.PrefixedBlobs(config.Blobs, "collector/"),
		InitialNamed: config.initial, Fleet: c.fleet,
		Clip: config.Clip, TrustClients: config.TrustClients, NoAudit: config.NoAudit, NoEdges: config.NoEdges,
		Dir: spill, ClientTimeout: config.ClientTimeout, Park: config.Park, MaxContext: config.MaxContext,
		TracerProvider: config.TracerProvider,
		Upstream:       config.Upstream, Logger: config.Logger,
	}
	if with := config.Sharing; with != nil {
		options.Name, options.Lease, options.Advertise, options.RelayTLS = with.Name, with.Lease, with.Advertise, with.TLS
	}
	if config.Orchestrator != "" {
		asked := orchestrator.Config{BaseURL: config.Orchestrator, Token: config.OrchestratorToken}
		if options.Orchestrator, err = orchestrator.NewClient(asked); err != nil {
			return nil, err
		}
	}
	if options.Repository, err = c.openRepository(config, spill); err != nil {
		return nil, err
	}
	if c.Jobs, err = flcollect.NewServer(options); err != nil {
		return nil, err
	}
	c.gate, err = flower.NewServer(flower.ServerConfig{
		Fleet:  c.fleetEndpoint().Address,
		Handle: c.Jobs.Handle, Relay: c.Jobs.TrustsRelay, MaxMessage: config.MaxMessage, Uploads: config.Uploads, TLS: config.TLS,
		Authorize: config.authorizeClient(), ConnState: server.ConnState, Logger: config.Logger,
	})
	return c, err
}

// openRepository returns the repository that results go to.
func (c *Collector) openRepository(config Config, spill string) (flcollect.Repository, error) {
	if config.Repository != "" {
		return newRemote(repository.ClientConfig{BaseURL: config.Repository, Token: config.RepositoryToken, Dir: spill}, config.Logger)
	}
	store, err := repository.New(repository.Config{
		Documents:  storage.Prefixed(config.Documents, "repository/"),
		Blobs:      storage.PrefixedBlobs(config.Blobs, "repository/"),
		Strategies: loadStrategy,
		Dir:        spill, Logger: config.Logger,
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

// Results counts the results in the repository of the collector itself.
func (c *Collector) Results(ctx context.Context) (int, error) {
	if c.repository == nil {
		return 0, nil
	}
	return c.repository.Results(ctx)
}

// Parts returns what runs: the web interface on one listener, and the jobs with
// their clients on the other. Announce is called when both can be used. They
// stop in the opposite order, so that the interface answers while the clients are
// disconnected.
func (c *Collector) Parts(web, clients net.Listener, announce func()) []server.Part {
	var parts []server.Part
	if c.repository != nil {
		parts = append(parts, server.Part{Name: "repository", Run: c.repository.Run})
	}
	return append(parts,
		server.HTTP(c.config.Door.Listener(web), c.Handler(), c.log),
		server.Part{
			Name: "collector", Ready: c.Jobs.Ready, Announce: announce,
			Run: func(ctx context.Context) error { return c.run(ctx, clients) },
		})
}

// run runs the jobs, and serves clients until they are disconnected.
func (c *Collector) run(ctx context.Context, clients net.Listener) error {
	defer c.end() // there are no more events
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	gate, fleet := make(chan error, 1), make(chan error, 1)
	go func() {
		gate <- c.gate.Serve(serving, server.KeepAccepting(clients, c.log))
		cancel()
	}()
	go func() {
		if c.fleet == nil {
			fleet <- nil
			return
		}
		fleet <- c.fleet.Serve(serving, server.KeepAccepting(c.config.Fleet, c.log))
		cancel()
	}()
	err := c.Jobs.Run(ctx)
	stop()
	return errors.Join(err, <-gate, <-fleet)
}
