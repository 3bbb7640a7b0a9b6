package portal

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/apimgmt/oidc"
	"github.com/iotenablers/enablers/apimgmt/rest"
	"github.com/iotenablers/enablers/internal/shell"
)

// Config is what a [Portal] is made of.
type Config struct {
	// Publisher has the library. Required.
	Publisher *apimgmt.Publisher
	// Client logs users in. Its redirect address is that of the portal followed by
	// [AnswerPath]. Required without SignedIn.
	Client *oidc.Client
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
	// SignedIn returns what the identity provider has given the person whose browser sends a
	// request. It is for programs that sign people in themselves: the portal then has no
	// sessions of its own. Its errors match [ErrSignedOut] for a browser that is not signed in,
	// and oidc.ErrUnreachable while that cannot be found out. Nil means that the portal signs
	// people in with Client.
	SignedIn func(r *http.Request) (oidc.Tokens, error)
	// SignIn is the path at which the program signs people in, and leads on to the path in the
	// parameter "to". SignOut is the one that a form is sent to that ends the session. Both are
	// required with SignedIn.
	SignIn, SignOut string
	// Own are the publishers, by the names in [apimgmt.Version.UploadedBy], whose APIs are parts of
	// the platform itself: the page of such an API sends the person's access token with requests
	// that are tried, unless the person says otherwise. For APIs of others, and not the person's
	// own, the person has to say so first, since their services could use the token at this
	// platform. A name of these must be one that no user of the identity provider can have. Nil
	// means none.
	Own []string
	// MaxFile is the greatest definition in bytes. Zero means 4 MiB.
	MaxFile int64
	// Sessions is how many users may be signed in; the one that has done nothing for
	// longest gives way. Zero means 10,000.
	Sessions int
	// Idle is after what time without a request a session ends. Zero means 30
	// minutes.
	Idle time.Duration
	// Longest is when a session ends in any case. Zero means 10 hours.
	Longest time.Duration
	// Hosts are names of the server besides that of URL, see [rest.HandlerOptions].
	Hosts []string
	// Logger receives logins and failures. Nil is silent.
	Logger *slog.Logger
}

// AnswerPath is where the identity provider sends browsers back to, below
// [Config.URL].
const AnswerPath = "/login/answer"

// origin reads the address of a server that has no path.
func origin(text string) (string, bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(u.Host, "\"'; ,") ||
		strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), true
}

func (c Config) withDefaults() (Config, error) {
	switch {
	case c.Publisher == nil:
		return c, errors.New("Config.Publisher is required")
	case c.Client == nil && c.SignedIn == nil:
		return c, errors.New("Config.Client is required")
	case c.Verifier == nil:
		return c, errors.New("Config.Verifier is required")
	case c.SignedIn != nil && (c.SignIn == "" || c.SignOut == ""):
		return c, errors.New("Config.SignIn and SignOut are required with SignedIn")
	case c.MaxFile < 0 || c.Sessions < 0 || c.Idle < 0 || c.Longest < 0:
		return c, errors.New("Config.MaxFile, Sessions, Idle and Longest must not be negative")
	}
	var ok bool
	if c.URL, ok = origin(c.URL); !ok {
		return c, fmt.Errorf("Config.URL: %q: expected http://HOST or https://HOST", c.URL)
	}
	gateway, err := url.Parse(c.GatewayURL)
	if err != nil || gateway.Scheme != "http" && gateway.Scheme != "https" || gateway.Host == "" ||
		gateway.User != nil || gateway.RawQuery != "" || gateway.Fragment != "" {
		return c, fmt.Errorf("Config.GatewayURL: %q: expected http://HOST or https://HOST, with a path or not", c.GatewayURL)
	}
	c.GatewayURL = strings.TrimRight(c.GatewayURL, "/")
	c.Developer = cmp.Or(c.Developer, "Developer")
	c.OpenCaller = cmp.Or(c.OpenCaller, "Open-Caller")
	c.MaxFile = cmp.Or(c.MaxFile, 4<<20)
	c.Sessions = cmp.Or(c.Sessions, 10_000)
	c.Idle = cmp.Or(c.Idle, 30*time.Minute)
	c.Longest = cmp.Or(c.Longest, 10*time.Hour)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// Portal is the web interface. It is made with [New] and safe for concurrent use.
type Portal struct {
	config   Config
	gateway  string // its origin
	entrance entrance
	part     *shell.Part
	texts    *renderer
}

// New returns a Portal. It makes no request before the first login. Errors name the
// field of the configuration.
func New(config Config) (*Portal, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new portal: %w", err)
	}
	var in entrance = elsewhere{config}
	if config.SignedIn == nil {
		if in, err = newOwnLogin(config); err != nil {
			return nil, fmt.Errorf("new portal: %w", err)
		}
	}
	gateway, _ := url.Parse(config.GatewayURL) // checked
	return &Portal{
		config: config, gateway: gateway.Scheme + "://" + gateway.Host, entrance: in, part: newPart(), texts: newRenderer(),
	}, nil
}
