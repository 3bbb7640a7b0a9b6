package flcollect

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/strategy"
	"github.com/iotenablers/enablers/flcollect/supernode"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Config configures a [Server].
type Config struct {
	// Documents stores the jobs and the records of their rounds. Required, and
	// used by no other server unless all of them have a Name.
	Documents storage.Documents
	// Blobs stores the models. Required, and shared with Documents.
	Blobs storage.Blobs
	// Name makes the server one of several on one store: each conducts the jobs that are
	// started at it, and goes on with those of a server that ends. No other process that
	// is alive may have the same name, such as by a lock on the folder that keeps it: a
	// server goes on at once with the jobs of an earlier one of its name. Printable ASCII
	// without a slash. Empty means that the server is alone on the store.
	Name string
	// Lease is the time after which the jobs of a server that was killed, or that does not
	// reach the store, go on at another. Servers on one store should have the same. Zero
	// means 10 seconds.
	Lease time.Duration
	// Advertise is where the other servers reach the Flower listener of this one, host and
	// port: they relay clients of its jobs. Empty has them disconnect such clients, to
	// reconnect after Park.
	Advertise string
	// RelayTLS is that for relaying clients to other servers. Nil means an unencrypted
	// connection.
	RelayTLS *tls.Config
	// Repository takes the results, and has models and strategies. Nil leaves
	// results with the jobs, where [Server.Result] returns them.
	Repository Repository
	// Strategies are those of the program, by the names that jobs select them by.
	// Each function creates one with the parameters of a job, which are its own; it is
	// called concurrently, at the start of a job and when a job goes on after a
	// restart. Its error is final, and should be a *strategy.FieldError. No name may
	// be that of a built-in strategy; it takes precedence over the same name in the
	// repository. Nil has none.
	Strategies map[string]func(strategy.Conf) (strategy.Strategy, error)
	// Orchestrator receives the progress of trainings. Nil reports it nowhere.
	Orchestrator Orchestrator
	// Initial returns the parameters with which a job begins. Their types are those of
	// all updates: other types that clients send are converted. Where its error
	// matches [ErrNoModel], the repository is asked, and then a client. Nil has
	// none. With homomorphic encryption only a client is asked: the others could not
	// encrypt.
	Initial func(ctx context.Context, config jobconfig.Config) (strategy.Model, error)
	// InitialNamed is Initial with the names of the model's layers, in their order, nil
	// for none. Apps of Flower's Message API find layers by their names. Only one of the
	// two may be given.
	InitialNamed func(ctx context.Context, config jobconfig.Config) (model strategy.Model, layers []string, err error)
	// Fleet carries the messages of SuperNodes, whose handler is [Server.HandleNode], and
	// has the apps that jobs may name. Nil refuses jobs with an app.
	Fleet *supernode.Server
	// Route returns the id of the job that a Flower client is for, empty for any. A
	// client for a job that is not active waits until it is. Nil takes the first label
	// of the host that the client called, if an active job has that id. It is called
	// concurrently.
	Route func(session *flower.Session) string
	// Identify returns a lasting name of a Flower client that has no certificate;
	// empty for none. Its reputation depends on the name, so a client must not be able
	// to choose that of another. It is called concurrently. Nil has no names.
	Identify func(session *flower.Session) string
	// Clip cuts updates that lie further from the model than [DefaultClipFactor] medians
	// of their round, the more the further they lie, unless a job says otherwise. False
	// only reports those beyond [DefaultNormFactor] medians: a job with a norm_bound of
	// its own has them cut all the same.
	Clip bool
	// TrustClients measures no update, unless a job requests it, and suspends no
	// client. It excludes Clip.
	TrustClients bool
	// NoAudit keeps no audit log, and so digests no update. The rounds have reports
	// all the same.
	NoAudit bool
	// NoEdges refuses clients that are collectors, as every client may say of itself: the sum
	// of one has no update whose distance could be measured.
	NoEdges bool
	// Upstream makes the jobs follow another server, whose clients they are. Nil conducts
	// their rounds here.
	Upstream *Upstream
	// ClientTimeout is how long a job waits for enough clients, and for a
	// repository that does not answer, before it is interrupted. Zero means
	// 24 hours, as with Flower.
	ClientTimeout time.Duration
	// Park is the time after which clients reconnect when the server stops, in whole
	// seconds. With more than a thousand clients one second is added for each thousand,
	// and they reconnect at random within that time. Zero means 5 seconds.
	Park time.Duration
	// MaxContext is the greatest size of a public context in bytes. Zero means
	// 64 MiB. Each one that is being received may take twice that in memory.
	MaxContext int64
	// Dir is the folder for files that a round needs. Empty means that of the
	// operating system.
	Dir string
	// TracerProvider takes a span for each round, with those of its phases and clients below
	// it. Clients are then sent its context in the fit configuration, as traceparent and
	// tracestate (W3C Trace Context). Nil creates none.
	TracerProvider trace.TracerProvider
	// Logger logs the progress of jobs. Nil is silent.
	Logger *slog.Logger
}

// Defaults of [Config].
const (
	defaultClientTimeout = 24 * time.Hour
	defaultPark          = 5 * time.Second
	defaultLease         = 10 * time.Second
	defaultMaxContext    = 64 << 20
	mostContext          = 1 << 32
	leastLease           = 100 * time.Millisecond
)

// withDefaults returns the configuration with its defaults, or its errors.
func (c Config) withDefaults() (Config, error) {
	var err error
	if c.Documents == nil {
		err = errors.Join(err, errors.New("configure training collector: Documents is required"))
	}
	if c.Blobs == nil {
		err = errors.Join(err, errors.New("configure training collector: Blobs is required"))
	}
	if c.Initial != nil && c.InitialNamed != nil {
		err = errors.Join(err, errors.New("configure training collector: Initial and InitialNamed exclude each other"))
	}
	if initial := c.Initial; initial != nil {
		c.InitialNamed = func(ctx context.Context, config jobconfig.Config) (strategy.Model, []string, error) {
			model, err := initial(ctx, config)
			return model, nil, err
		}
	}
	if c.Clip && c.TrustClients {
		err = errors.Join(err, errors.New("configure training collector: Clip and TrustClients exclude each other"))
	}
	if c.Upstream != nil {
		err = errors.Join(err, c.Upstream.check())
	}
	err = errors.Join(err, checkStrategies(c.Strategies))
	c.Strategies = maps.Clone(c.Strategies)
	if c.ClientTimeout == 0 {
		c.ClientTimeout = defaultClientTimeout
	}
	if c.ClientTimeout < 0 {
		err = errors.Join(err, fmt.Errorf("configure training collector: ClientTimeout is %v, must not be negative",
			c.ClientTimeout))
	}
	if c.Park == 0 {
		c.Park = defaultPark
	}
	if c.Park < time.Second {
		err = errors.Join(err, fmt.Errorf("configure training collector: Park is %v, must be a second at least", c.Park))
	}
	err = errors.Join(err, c.checkSharing())
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.MaxContext == 0 {
		c.MaxContext = defaultMaxContext
	}
	if c.MaxContext < 0 || c.MaxContext > mostContext {
		err = errors.Join(err, fmt.Errorf("configure training collector: MaxContext is %d, must be 1 to %d",
			c.MaxContext, int64(mostContext)))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, err
}

// maxName bounds [Config].Name, in bytes.
const maxName = 128

// checkSharing returns what is wrong with the configuration of one of several servers.
func (c Config) checkSharing() error {
	for _, b := range []byte(c.Name) {
		if b <= ' ' || b > '~' || b == '/' || len(c.Name) > maxName {
			return fmt.Errorf("configure training collector: Name is %q, must be up to %d printable ASCII characters without a slash",
				c.Name, maxName)
		}
	}
	if c.Lease != 0 && (c.Lease < leastLease || c.Lease > lease.MaxDuration) {
		return fmt.Errorf("configure training collector: Lease is %v, must be %v to %v", c.Lease, leastLease, lease.MaxDuration)
	}
	if c.Advertise != "" {
		if _, _, err := net.SplitHostPort(c.Advertise); err != nil {
			return fmt.Errorf("configure training collector: Advertise is %q, must be HOST:PORT: %w", c.Advertise, err)
		}
	}
	return nil
}
