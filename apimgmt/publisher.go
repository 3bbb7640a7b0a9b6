package apimgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/storage"
)

// Config is what a [Publisher] is made of.
type Config struct {
	// Documents keeps the catalogue. Required. Give it a store of its own or a part
	// of one, see [storage.Prefixed].
	Documents storage.Documents
	// Blobs keeps the files. Required.
	Blobs storage.Blobs
	// Gateway routes to what is published. Required.
	Gateway Gateway
	// GatewayURL is the address of the gateway that people are told, http or https.
	// Required.
	GatewayURL string
	// Upstreams says where definitions may have requests sent to. The zero value
	// allows every public host.
	Upstreams Upstreams
	// Definition bounds the files.
	Definition definition.Limits
	// SecurityPlugin is the plugin that security requirements of definitions become,
	// [definition.OIDCPlugin] or [definition.OpenIDConnectPlugin]. Empty means that they
	// are the services' own business; [definition.Options] says why.
	SecurityPlugin string
	// Versions is how many versions an enabler may have. Zero means 50.
	Versions int
	// Uploads is how many files are checked at the same time; others wait. Zero
	// means 4.
	Uploads int
	// Patience is how long a change by another process may take before this one
	// finishes it. It is longer than GatewayTimeout. Zero means 15 seconds.
	Patience time.Duration
	// GatewayTimeout bounds telling the gateway of a change. Zero means 10 seconds.
	GatewayTimeout time.Duration
	// Interval is how often Run looks for changes by others. Zero means 2 seconds.
	Interval time.Duration
	// Reconcile is how often Run compares all that the gateway serves with the
	// catalogue. Zero means 30 seconds.
	Reconcile time.Duration
	// Grace is how long blobs that nothing refers to, and traces of enablers that
	// were deleted, are kept. Zero means an hour.
	Grace time.Duration
	// Logger is told who changed what, and of failures. Nil is silent.
	Logger *slog.Logger
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Documents == nil:
		return c, errors.New("apimgmt: Config.Documents is required")
	case c.Blobs == nil:
		return c, errors.New("apimgmt: Config.Blobs is required")
	case c.Gateway == nil:
		return c, errors.New("apimgmt: Config.Gateway is required")
	}
	if base, err := url.Parse(c.GatewayURL); err != nil || base.Host == "" || base.User != nil || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.Fragment != "" {
		return c, errors.New("apimgmt: Config.GatewayURL: expected http://HOST or https://HOST, with a path or not")
	}
	c.GatewayURL = strings.TrimRight(c.GatewayURL, "/")
	if err := c.Upstreams.check(); err != nil {
		return c, err
	}
	if p := c.SecurityPlugin; p != "" && p != definition.OIDCPlugin && p != definition.OpenIDConnectPlugin {
		return c, fmt.Errorf("apimgmt: Config.SecurityPlugin: expected %q, %q or nothing, not %q", definition.OIDCPlugin, definition.OpenIDConnectPlugin, p)
	}
	for name, value := range map[string]int64{
		"Versions": int64(c.Versions), "Uploads": int64(c.Uploads), "Patience": int64(c.Patience), "GatewayTimeout": int64(c.GatewayTimeout),
		"Interval": int64(c.Interval), "Reconcile": int64(c.Reconcile), "Grace": int64(c.Grace),
	} {
		if value < 0 {
			return c, fmt.Errorf("apimgmt: Config.%s is negative", name)
		}
	}
	c.Versions = cmp.Or(c.Versions, 50)
	c.Uploads = cmp.Or(c.Uploads, 4)
	c.Definition.Bytes = cmp.Or(max(c.Definition.Bytes, 0), 4<<20)
	c.Patience = cmp.Or(c.Patience, 15*time.Second)
	c.GatewayTimeout = cmp.Or(c.GatewayTimeout, 10*time.Second)
	c.Interval = cmp.Or(c.Interval, 2*time.Second)
	c.Reconcile = cmp.Or(c.Reconcile, 30*time.Second)
	c.Grace = cmp.Or(c.Grace, time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Publisher keeps a catalogue of APIs and has a gateway route to them. It is made
// with [NewPublisher] and is safe for concurrent use, also by several processes over
// one storage.
type Publisher struct {
	config  Config
	docs    storage.Documents
	blobs   storage.Blobs
	gateway Gateway
	log     *slog.Logger
	id      string        // of this publisher among those over the storage
	turn    chan struct{} // is full while something is changed
	checks  chan struct{} // as many as are checked

	mu       sync.Mutex
	kept     *snapshot
	contents map[string]*content // by upload; those that are routed

	totals totals
}

// Totals count what a [Publisher] has done since it was made.
type Totals struct {
	// Changes were made, Refused were refused, and Failed failed because of the
	// storage or the gateway.
	Changes, Refused, Failed uint64
	// Healed is how often the gateway served something else than the catalogue says
	// and was told anew.
	Healed uint64
}

type totals struct{ changes, refused, failed, healed atomic.Uint64 }

// NewPublisher returns a Publisher. It reads and writes nothing; errors name the
// field of the configuration.
func NewPublisher(config Config) (*Publisher, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Publisher{
		config: config, docs: config.Documents, blobs: config.Blobs, gateway: config.Gateway, log: config.Logger,
		id: uuid.NewString(), turn: make(chan struct{}, 1), checks: make(chan struct{}, config.Uploads),
		contents: map[string]*content{},
	}, nil
}

// Totals returns the counts.
func (p *Publisher) Totals() Totals {
	return Totals{Changes: p.totals.changes.Load(), Refused: p.totals.refused.Load(), Failed: p.totals.failed.Load(), Healed: p.totals.healed.Load()}
}

// Ready returns nil if storage and gateway answer.
func (p *Publisher) Ready(ctx context.Context) error {
	if _, err := p.docs.Get(ctx, catalogueKey); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("apimgmt: documents: %w", err)
	}
	if _, err := p.blobs.Stat(ctx, filePrefix+"none"); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("apimgmt: blobs: %w", err)
	}
	if _, err := p.gateway.Kinds(ctx); err != nil {
		return fmt.Errorf("apimgmt: gateway: %w", err)
	}
	return nil
}

// take waits for a place in a channel that bounds something.
func take(ctx context.Context, places chan struct{}) (release func(), err error) {
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	default:
	}
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
