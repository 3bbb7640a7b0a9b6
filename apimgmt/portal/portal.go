package portal

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/internal/shell"
)

// Config configures a [Portal].
type Config struct {
	// Publisher has the library. Required.
	Publisher *apimgmt.Publisher
	// Verifier checks access tokens, for the roles in them. Required.
	Verifier rest.Verifier
	// URL is the address of the portal, http or https, without a path. Required.
	URL string
	// GatewayURL is the address of the gateway as browsers reach it. Required.
	GatewayURL string
	// Developer is the realm role of users that may publish. Empty means
	// "Developer".
	Developer string
	// OpenCaller is the realm role of users that may read. Empty means
	// "Open-Caller".
	OpenCaller string
	// SignedIn returns the access token of the person whose browser sends a request: the
	// program signs people in, and keeps their sessions. Its errors match [ErrSignedOut] for a
	// browser that is not signed in, and oidc.ErrUnreachable while the identity provider cannot
	// be reached. Required.
	SignedIn func(r *http.Request) (token string, err error)
	// SignIn is the path at which the program signs people in. It redirects to the path in the
	// parameter "to". Required.
	SignIn string
	// SignOut is the path of the form that ends the session. Required.
	SignOut string
	// Own are the publishers, by the names in [apimgmt.Version.UploadedBy], whose APIs are parts of
	// the platform itself: the page of such an API sends the person's access token with requests
	// that are tried, unless the person says otherwise. For APIs of others, and not the person's
	// own, the person has to say so first, since their services could use the token at this
	// platform. A name of these must be one that no user of the identity provider can have. Nil
	// means none.
	Own []string
	// MaxFile is the greatest definition in bytes. Zero means 4 MiB.
	MaxFile int64
	// Hosts are names of the server besides that of URL, see [rest.HandlerOptions].
	Hosts []string
	// Logger receives failures. Nil is silent.
	Logger *slog.Logger
}

// origin reads the address of a server that has no path.
func origin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.ContainsAny(u.Host, "\"'; ,") ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), true
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Publisher == nil:
		return c, errors.New("Config.Publisher is required")
	case c.Verifier == nil:
		return c, errors.New("Config.Verifier is required")
	case c.SignedIn == nil || c.SignIn == "" || c.SignOut == "":
		return c, errors.New("Config.SignedIn, SignIn and SignOut are required")
	case c.MaxFile < 0:
		return c, errors.New("Config.MaxFile must not be negative")
	}
	var ok bool
	if c.URL, ok = origin(c.URL); !ok {
		return c, fmt.Errorf("Config.URL: %q: expected http://HOST or https://HOST", c.URL)
	}
	gateway, err := url.Parse(c.GatewayURL)
	if err != nil || (gateway.Scheme != "http" && gateway.Scheme != "https") || gateway.Host == "" ||
		gateway.User != nil || gateway.RawQuery != "" || gateway.Fragment != "" {
		return c, fmt.Errorf("Config.GatewayURL: %q: expected http://HOST or https://HOST, with a path or not", c.GatewayURL)
	}
	c.GatewayURL = strings.TrimRight(c.GatewayURL, "/")
	c.Developer = cmp.Or(c.Developer, "Developer")
	c.OpenCaller = cmp.Or(c.OpenCaller, "Open-Caller")
	c.MaxFile = cmp.Or(c.MaxFile, 4<<20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Portal is the web interface. [New] creates one. It is safe for concurrent use.
type Portal struct {
	config  Config
	gateway string // its origin
	part    *shell.Part
	texts   *renderer
}

// New returns a Portal. It sends no request. Errors name the field of the configuration.
func New(config Config) (*Portal, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new portal: %w", err)
	}
	gateway, _ := url.Parse(config.GatewayURL) // checked
	return &Portal{
		config:  config,
		gateway: gateway.Scheme + "://" + gateway.Host,
		part:    newPart(),
		texts:   newRenderer(),
	}, nil
}
