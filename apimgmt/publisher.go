package apimgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/storage"
	"github.com/iotenablers/enablers/storage/lease"
)

// Config configures a [Publisher].
type Config struct {
	// Documents keeps the catalogue. Required. Give it a store of its own or a part
	// of one, see [storage.Prefixed].
	Documents storage.Documents
	// Blobs keeps the files. Required.
	Blobs storage.Blobs
	// Gateway routes to what is published. Required.
	Gateway Gateway
	// GatewayURL is the public address of the gateway, http or https. Required.
	GatewayURL string
	// Upstreams bounds the hosts that definitions may name as their servers. The zero
	// value allows every public host.
	Upstreams Upstreams
	// Definition bounds the files.
	Definition definition.Limits
	// SecurityPlugin is the plugin that security requirements of definitions become,
	// [definition.OIDCPlugin] or [definition.OpenIDConnectPlugin]. Empty means that the
	// services enforce them; see [definition.Options].
	SecurityPlugin string
	// Versions is the greatest number of versions of an enabler. Zero means 50.
	Versions int
	// Uploads is the number of files that are checked at the same time; others wait. Zero
	// means 4.
	Uploads int
	// Patience is the longest time that a change by another process may take before this one
	// finishes it. It is longer than GatewayTimeout. Zero means 15 seconds.
	Patience time.Duration
	// GatewayTimeout bounds the time of one change of the gateway. Zero means 10 seconds.
	GatewayTimeout time.Duration
	// Interval is the time between two looks of Run for changes by other processes. Zero means 2
	// seconds.
	Interval time.Duration
	// Reconcile is the time between two comparisons of all that the gateway serves with the
	// catalogue. Zero means 30 seconds.
	Reconcile time.Duration
	// Grace is the time for which the records of deleted enablers are kept, at least, and how often Run
	// recovers, which deletes blobs that no record refers to. Zero means an hour.
	Grace time.Duration
	// Logger receives changes, with their users, and failures. Nil is silent.
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
	if base, err := url.Parse(c.GatewayURL); err != nil || base.Host == "" || base.User != nil ||
		(base.Scheme != "http" && base.Scheme != "https") || base.RawQuery != "" || base.Fragment != "" {
		return c, errors.New("apimgmt: Config.GatewayURL: expected http://HOST or https://HOST, with a path or not")
	}
	c.GatewayURL = strings.TrimRight(c.GatewayURL, "/")
	if err := c.Upstreams.check(); err != nil {
		return c, err
	}
	if p := c.SecurityPlugin; p != "" && p != definition.OIDCPlugin && p != definition.OpenIDConnectPlugin {
		return c, fmt.Errorf("apimgmt: Config.SecurityPlugin: expected %q, %q or nothing, not %q",
			definition.OIDCPlugin, definition.OpenIDConnectPlugin, p)
	}
	for name, value := range map[string]int64{
		"Versions": int64(c.Versions), "Uploads": int64(c.Uploads),
		"Patience": int64(c.Patience), "GatewayTimeout": int64(c.GatewayTimeout),
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

// Publisher keeps a catalogue of APIs and configures a gateway to route to them. It is created
// with [NewPublisher] and is safe for concurrent use, also by several processes over
// one storage.
type Publisher struct {
	config    Config
	catalogue *catalogue
	files     *files
	routing   *routing
	changes   *changes
	log       *slog.Logger
	watch     *watch
	checks    chan struct{} // an element for each upload that is checked
	totals    totals
	removed   lease.Observations // records of deleted enablers, of the sweep, which has the turn
}

// Totals are the counts of a [Publisher] since it was created. The tags metric and help
// describe them for Prometheus.
type Totals struct {
	Changes uint64 `metric:"changes_total" help:"Changes of the catalogue that were committed."`
	Refused uint64 `metric:"refused_changes_total" help:"Changes that were refused."`
	Failed  uint64 `metric:"failed_changes_total" help:"Changes that failed because of the storage or the gateway."`
	Healed  uint64 `metric:"healed_total" help:"Repairs of a gateway that served something else than the catalogue."`
}

type totals struct{ changes, refused, failed, healed atomic.Uint64 }

// count counts the outcome of a change.
func (t *totals) count(err error) {
	var refusal *Error
	switch {
	case err == nil:
		t.changes.Add(1)
	case errors.As(err, &refusal) && refusal.Kind != ErrGateway && refusal.Kind != ErrUnknown:
		t.refused.Add(1)
	default:
		t.failed.Add(1)
	}
}

// NewPublisher returns a Publisher. It reads and writes nothing; errors name the
// field of the configuration.
func NewPublisher(config Config) (*Publisher, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	f := &files{blobs: config.Blobs, log: config.Logger, cached: map[string]*content{}}
	c := &catalogue{docs: config.Documents, files: f}
	g := &routing{files: f, gateway: config.Gateway}
	return &Publisher{
		config: config, catalogue: c, files: f, routing: g, log: config.Logger,
		changes: &changes{
			catalogue: c, files: f, routing: g, gateway: config.Gateway, log: config.Logger,
			id: uuid.NewString(), turn: make(chan struct{}, 1),
			patience: config.Patience, gatewayTimeout: config.GatewayTimeout,
		},
		watch:  &watch{gateway: config.Gateway, age: config.Interval},
		checks: make(chan struct{}, config.Uploads),
	}, nil
}

// apply executes a change and counts it.
func (p *Publisher) apply(ctx context.Context, op, key string, prepare prepareFunc) error {
	err := p.changes.apply(ctx, op, key, prepare)
	p.watch.forget()
	p.totals.count(err)
	return err
}

// Totals returns the counts.
func (p *Publisher) Totals() Totals {
	return Totals{
		Changes: p.totals.changes.Load(), Refused: p.totals.refused.Load(),
		Failed: p.totals.failed.Load(), Healed: p.totals.healed.Load(),
	}
}

// MaxDefinition is the greatest size of a definition in bytes.
func (p *Publisher) MaxDefinition() int { return p.config.Definition.Bytes }

// Ready returns nil if storage and gateway answer, and the storage has space.
func (p *Publisher) Ready(ctx context.Context) error {
	if _, err := p.config.Documents.Get(ctx, headKey); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("apimgmt: documents: %w", err)
	}
	if _, err := p.config.Blobs.Stat(ctx, filePrefix+"none"); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("apimgmt: blobs: %w", err)
	}
	if err := storage.Space(ctx, p.config.Documents); err != nil {
		return fmt.Errorf("apimgmt: documents: %w", err)
	}
	if _, err := p.config.Gateway.Kinds(ctx); err != nil {
		return fmt.Errorf("apimgmt: gateway: %w", err)
	}
	return nil
}
