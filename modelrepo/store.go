package modelrepo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/iotenablers/enablers/internal/tracing"
	"github.com/iotenablers/enablers/modelrepo/internal/docpages"
	"github.com/iotenablers/enablers/modelrepo/internal/integrity"
	"github.com/iotenablers/enablers/modelrepo/internal/transfer"
	"github.com/iotenablers/enablers/modelrepo/internal/tus"
	"github.com/iotenablers/enablers/modelrepo/internal/webhook"
	"github.com/iotenablers/enablers/storage"
)

// Config is the configuration of a [Store].
type Config struct {
	// Documents stores namespaces, models and versions. Required. The package
	// documentation lists the keys that the repository uses: give it a store of its own
	// or a part of one, see [storage.Prefixed].
	Documents storage.Documents
	// Blobs stores the bytes of content. Required. Keys begin with "blob/", "part/" and
	// "page/".
	Blobs storage.Blobs
	// Grace is how long content is kept that nothing refers to, and uploads that
	// receive nothing. Zero means 24 hours. Content that is referred to is never removed,
	// whatever the grace period is. Uploads that receive bytes are never given up if it is
	// at least twice as long as the clocks of the processes over one storage differ.
	Grace time.Duration
	// Settle is how old the trace of an operation must be before Repair assumes that
	// the operation crashed. Zero means one minute. An operation that was only slow
	// starts again.
	Settle time.Duration
	// Interval is how long Run waits between two rounds. Zero means one hour.
	Interval time.Duration
	// Limits are the quotas. The zero value limits nothing.
	Limits Limits
	// Scrub configures the comparison of all content with its digests. The zero value is
	// the default.
	Scrub ScrubConfig
	// Webhooks configures the calls of webhooks. The zero value is the default.
	Webhooks WebhookConfig
	// Changed is called after each operation of this Store that has changed something, by
	// several goroutines. It must return quickly. Nil means not at all.
	Changed func(Change)
	// TracerProvider records spans of uploads and of the calls of webhooks, which continue the
	// trace of what they report. Nil is off, and costs nothing.
	TracerProvider trace.TracerProvider
	// Logger receives the events of Run. Nil is silent.
	Logger *slog.Logger
}

// Store is a repository. It is created with [New] and is safe for concurrent use, also by
// several processes over one storage.
type Store struct {
	config    Config
	tree      *tree
	contents  *contents
	uploads   *Uploads
	hooks     *webhook.Hooks
	scrubber  *integrity.Scrubber
	pages     docpages.Pages
	rendering chan struct{} // has one element while documentation is rendered
}

// New returns the repository over the two stores. It reads and writes nothing.
func New(config Config) (*Store, error) {
	switch {
	case config.Documents == nil:
		return nil, errors.New("modelrepo: Config.Documents is required")
	case config.Webhooks.MaxQueued < 0:
		return nil, fmt.Errorf("modelrepo: Config.Webhooks.MaxQueued is %d, and has to be positive",
			config.Webhooks.MaxQueued)
	case config.Blobs == nil:
		return nil, errors.New("modelrepo: Config.Blobs is required")
	}
	if config.Scrub.BytesPerSecond < 0 {
		return nil, fmt.Errorf("modelrepo: Config.Scrub.BytesPerSecond is %d, and has to be positive",
			config.Scrub.BytesPerSecond)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"Grace", config.Grace}, {"Settle", config.Settle}, {"Interval", config.Interval},
		{"Webhooks.GiveUp", config.Webhooks.GiveUp}, {"Webhooks.Timeout", config.Webhooks.Timeout},
		{"Webhooks.Retry", config.Webhooks.Retry}, {"Webhooks.Poll", config.Webhooks.Poll}} {
		if d.value < 0 {
			return nil, fmt.Errorf("modelrepo: Config.%s is %v, and has to be positive", d.name, d.value)
		}
	}
	if err := config.Limits.check(); err != nil {
		return nil, err
	}
	config.Grace = cmp.Or(config.Grace, 24*time.Hour)
	config.Settle = cmp.Or(config.Settle, time.Minute)
	config.Interval = cmp.Or(config.Interval, time.Hour)
	config.Scrub.Interval = cmp.Or(config.Scrub.Interval, 30*24*time.Hour)
	config.Scrub.BytesPerSecond = cmp.Or(config.Scrub.BytesPerSecond, 8<<20)
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return assemble(config), nil
}

// assemble returns a store with a valid and complete configuration.
func assemble(config Config) *Store {
	docs, blobs, limits := config.Documents, config.Blobs, config.Limits
	tree := &tree{docs: docs, limits: limits, settle: config.Settle, scans: make(chan struct{}, maxScans)}
	hooks := webhook.New(docs, outcome{tree}, webhook.Config(config.Webhooks), config.Settle, config.Logger)
	tracer := tracing.New(config.TracerProvider, "modelrepo")
	hooks.Tracer = tracer
	if config.Changed != nil {
		hooks.Happened = func(e webhook.Event) {
			config.Changed(Change{Action: Action(e.Action), Path: Path(e.At), Format: e.Format})
		}
	}
	copier := &transfer.Copier{}
	checker := integrity.New(docs, blobs, copier, config.Logger)
	contents := &contents{
		tree: tree, docs: docs, blobs: blobs, hooks: hooks, checker: checker,
		usage:     &usage{tree: tree, most: limits.NamespaceBytes},
		collector: &collector{docs: docs, blobs: blobs, checker: checker, grace: config.Grace},
		copier:    copier, stats: &counters{},
		maxBytes: limits.ContentBytes, grace: config.Grace, tracer: tracer,
	}
	uploads := &Uploads{contents, tus.New(tus.Config{
		Documents: docs, Blobs: blobs, Copier: contents.copier, Publisher: contents,
		Grace: config.Grace, PieceBytes: pieceBytes,
	})}
	return &Store{
		config: config, tree: tree, contents: contents, uploads: uploads, hooks: hooks,
		scrubber: &integrity.Scrubber{
			Checker: checker, Contents: tree.contents, Me: newID(), Logger: config.Logger, Wake: make(chan struct{}, 1),
			Interval: config.Scrub.Interval, BytesPerSecond: config.Scrub.BytesPerSecond,
		},
		pages: docpages.Pages{Blobs: blobs}, rendering: make(chan struct{}, 1),
	}
}

// Run repairs and collects at the beginning and then every [Config].Interval, calls
// webhooks, and scrubs as [Config].Scrub says and [Store.Scrub] requests, until the context
// ends; it then returns nil. A round that fails is logged and tried again. Several processes
// over one storage may all run it; one is enough.
func (s *Store) Run(ctx context.Context) error {
	var others sync.WaitGroup
	others.Go(func() { s.hooks.Run(ctx) })
	others.Go(func() { s.scrubber.Run(ctx) })
	defer others.Wait()
	ticker := time.NewTicker(s.config.Interval)
	defer ticker.Stop()
	for {
		if err := s.tidy(ctx); err != nil && ctx.Err() == nil {
			s.config.Logger.Error("repair and collection failed, the next round tries again", "error", err, "again",
				s.config.Interval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (s *Store) tidy(ctx context.Context) error {
	repaired, err := s.Repair(ctx)
	if err != nil {
		return err
	}
	collected, err := s.Collect(ctx)
	if err != nil {
		return err
	}
	s.config.Logger.Info("repaired and collected", "operations", repaired.Operations, "uploads", repaired.Uploads,
		"contents", collected.Contents, "bytes", collected.Bytes, "blobs", collected.Blobs)
	return nil
}

// Ping returns nil if the documents and the blobs can be read and have space. They may be
// on different servers and disks.
func (s *Store) Ping(ctx context.Context) error {
	if _, err := s.config.Documents.Get(ctx, rootKey); err != nil && !errors.Is(err, storage.ErrNotFound) {
		return fmt.Errorf("modelrepo: documents: %w", err)
	}
	if err := readable(ctx, s.config.Blobs); err != nil {
		return fmt.Errorf("modelrepo: blobs: %w", err)
	}
	if err := storage.Space(ctx, s.config.Documents); err != nil {
		return fmt.Errorf("modelrepo: documents: %w", err)
	}
	if err := storage.Space(ctx, s.config.Blobs); err != nil {
		return fmt.Errorf("modelrepo: blobs: %w", err)
	}
	return nil
}

// readable returns nil if blobs can be read.
func readable(ctx context.Context, blobs storage.Blobs) error {
	_, err := blobs.Stat(ctx, blobPrefix+"none")
	if errors.Is(err, storage.ErrNotFound) {
		return nil
	}
	return err
}

// pieceBytes is how many bytes of a resumable upload become durable at a time.
const pieceBytes = 64 << 20

// newID returns a new identifier.
func newID() string { return uuid.NewString() }
