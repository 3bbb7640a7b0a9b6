package kong

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// Config configures a [Gateway].
type Config struct {
	// URL is the address of the Admin API, http or https; what is there of a path
	// is put before Kong's, such as that of a workspace. Required.
	URL string
	// Token is sent as Kong-Admin-Token with every call. Empty sends none.
	Token string
	// Header is sent with every call, for what guards the Admin API, such as the
	// "apikey" of a route of Kong itself.
	Header http.Header
	// HTTPClient sends the calls, for instance with certificates. Nil means a client
	// of its own. Redirects that would change the method of a call are not followed.
	HTTPClient *http.Client
	// Timeout is the longest time that one call may take, with its body. Zero means 10 seconds.
	Timeout time.Duration
	// PublishTimeout is the longest time that a whole publish may take, without putting back
	// what failed, which may take as long again. Zero means 1 minute.
	PublishTimeout time.Duration
	// Lease is after how long a publish of another process counts as dead, from when this process has
	// met it first. Zero means, and less is raised to, three times PublishTimeout.
	Lease time.Duration
	// Attempts is the greatest number of attempts of a call that fails for a temporary reason. Zero
	// means 4.
	Attempts int
	// Backoff is the pause before the second attempt; every further pause is twice
	// as long as the one before, up to 5 seconds. Zero means 100 milliseconds.
	Backoff time.Duration
	// Logger receives failures and warnings for operators. Nil is silent.
	Logger *slog.Logger
}

// Gateway publishes to a Kong. It is created with New and is safe for concurrent use;
// publishes take turns.
type Gateway struct {
	client  *client
	config  Config
	logger  *slog.Logger
	turn    chan struct{} // holds one value while a publish is under way
	schemas *schemas
	// left and seen are of whose turn it is.
	left map[string]string   // by owner, ids of services that could not be removed
	seen map[string]sighting // by name, services of publishes of other processes
}

// New returns a gateway that publishes to a Kong. It sends no call.
func New(config Config) (*Gateway, error) {
	base, err := httpclient.BaseURL(config.URL)
	if err != nil {
		return nil, fmt.Errorf("kong: URL %w", err)
	}
	for name, d := range map[string]time.Duration{"Timeout": config.Timeout, "PublishTimeout": config.PublishTimeout,
		"Lease": config.Lease, "Backoff": config.Backoff} {
		if d < 0 {
			return nil, fmt.Errorf("kong: %s %v: it is negative", name, d)
		}
	}
	if config.Attempts < 0 {
		return nil, fmt.Errorf("kong: Attempts %d: it is negative", config.Attempts)
	}
	for _, field := range []struct {
		value *time.Duration
		is    time.Duration
	}{{&config.Timeout, 10 * time.Second}, {&config.PublishTimeout, time.Minute}, {&config.Backoff, 100 * time.Millisecond}} {
		if *field.value == 0 {
			*field.value = field.is
		}
	}
	config.Lease = max(config.Lease, 3*config.PublishTimeout)
	if config.Attempts == 0 {
		config.Attempts = 4
	}
	g := &Gateway{config: config, logger: config.Logger, turn: make(chan struct{}, 1), left: map[string]string{}, seen: map[string]sighting{}}
	if g.logger == nil {
		g.logger = slog.New(slog.DiscardHandler)
	}
	g.client = &client{base: base, header: config.Header.Clone(), http: httpclient.New(config.HTTPClient),
		timeout: config.Timeout, attempts: config.Attempts, backoff: config.Backoff}
	if g.client.header == nil {
		g.client.header = http.Header{}
	}
	if config.Token != "" {
		g.client.header.Set("Kong-Admin-Token", config.Token)
	}
	g.schemas = newSchemas(g.client)
	return g, nil
}

// Publish serves the entities in place of those that owner had; an empty
// configuration withdraws. The owner is a tag, which every entity gets. See the
// package about how whole that is. Publishing the same again changes nothing.
//
// The error of a call says which entity it was about, and has Kong's message; it
// wraps [entity.ErrInvalid] if the entities are at fault, [entity.ErrConflict] if
// another owner has an id or a name, [ErrForbidden] or [ErrBusy]. Nothing has
// changed then. After any other one, what was served before is served, unless the
// error reports that it could not be put back; publishing again puts it right.
func (g *Gateway) Publish(ctx context.Context, owner string, config entity.Config) error {
	if err := g.publish(ctx, owner, config); err != nil {
		return fmt.Errorf("publish %q: %w", owner, err)
	}
	return nil
}

// Plan returns what Publish would change, or the error that it would return as far as that
// can be known before: Kong validates the plugins, and the entities are checked here.
// Nothing changes.
func (g *Gateway) Plan(ctx context.Context, owner string, config entity.Config) (entity.Plan, error) {
	plan, err := g.plan(ctx, owner, config)
	if err != nil {
		return entity.Plan{}, fmt.Errorf("publish %q: %w", owner, err)
	}
	return plan, nil
}

// Config returns everything that is served, as far as [entity.Config] can say it:
// entities of others that it cannot, such as routes of TCP, are left out, and so
// are members of the configuration of plugins that have their default.
func (g *Gateway) Config(ctx context.Context) (entity.Config, error) {
	n, err := g.node(ctx)
	if err != nil {
		return entity.Config{}, err
	}
	held, err := g.load(ctx, n)
	return held.config, err
}

// Kinds returns the names of the plugins that Kong has, in order; nil if it does
// not say.
func (g *Gateway) Kinds(ctx context.Context) ([]string, error) {
	n, err := g.node(ctx)
	return n.plugins, err
}

// errDead means that a publish took too long.
var errDead = errors.New("kong: publish took longer than PublishTimeout")

// pathWithQuery is a path of the Admin API with a query.
func pathWithQuery(path string, query url.Values) string {
	if len(query) == 0 {
		return path
	}
	return path + "?" + query.Encode()
}
