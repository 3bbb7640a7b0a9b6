package oidc

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"
)

// Authentication methods of clients at the issuer (OpenID Connect Core section 9).
const (
	// SecretBasic sends identifier and secret as HTTP basic authentication.
	SecretBasic = "client_secret_basic"
	// SecretPost sends them as fields of the form.
	SecretPost = "client_secret_post"
)

const (
	// keysAge is the time for which keys and the discovery document are used if the issuer does not
	// say.
	keysAge = 10 * time.Minute
	// staleKeys is the time for which expired keys are used while the issuer cannot be reached.
	staleKeys = time.Hour
	// cacheBytes is the greatest size of a cache.
	cacheBytes = 16 << 20
)

// Config has the issuer of accepted tokens, and how it is called. Issuer or
// Discovery is required.
type Config struct {
	// Issuer is the value of iss in tokens. Empty means what the
	// discovery document says.
	Issuer string
	// Discovery is the address of the discovery document. Empty means
	// Issuer followed by "/.well-known/openid-configuration".
	Discovery string
	// Endpoints replace those of the discovery document. If all that is used
	// is set, no document is fetched; Issuer is required then.
	Endpoints Endpoints

	// Audience are the accepted values of aud, of which a token must have one.
	// Empty means that it is not checked: Keycloak's tokens say "account"
	// unless a realm is set up to say more.
	Audience []string
	// AuthorizedParties are the clients whose tokens are accepted (azp, or
	// client_id). Empty means all.
	AuthorizedParties []string
	// Algorithms are the accepted signature algorithms. Empty means all that
	// the package doc lists.
	Algorithms []string
	// Skew is the tolerated difference of clocks. 0 means 30 s, negative means not at
	// all.
	Skew time.Duration

	// ClientID and ClientSecret are the credentials of this server at the issuer, for
	// Introspect and for a Client. A Client without a secret is public.
	ClientID, ClientSecret string
	// ClientAuth is the authentication method: SecretBasic, which empty means, or
	// SecretPost.
	ClientAuth string

	// Timeout bounds every request to the issuer. 0 means 5 s.
	Timeout time.Duration
	// KeysRetry is the least time between two fetches for the sake of keys
	// that are not known. 0 means 10 s.
	KeysRetry time.Duration
	// IntrospectionTTL is the time for which an answer of Introspect is used again. A
	// token that was revoked is good for that long at most. 0 means one second,
	// negative means never.
	IntrospectionTTL time.Duration
	// CacheEntries bounds the verified tokens that are cached, and separately the
	// answers of Introspect, besides 16 MiB for each. 0 means 10,000, negative means
	// none.
	CacheEntries int

	// Hosts are the hosts that may be called, "name" for all ports or
	// "name:port". Empty means all.
	Hosts []string
	// AllowHTTP allows http, which every host on the path can change, to other
	// hosts than the loopback interface.
	AllowHTTP bool
	// HTTPClient sends the requests. Nil means one with a pool of its own that
	// uses no proxy. Its rules for redirects are not used: none is followed.
	HTTPClient *http.Client
	// Logger receives changes of keys and failures to refresh them. Nil is
	// silent.
	Logger *slog.Logger
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	if c.Issuer == "" && c.Discovery == "" {
		return c, errors.New("neither Config.Issuer nor Config.Discovery is set")
	}
	if c.Discovery == "" {
		c.Discovery = discoveryURL(c.Issuer)
	}
	for _, algorithm := range c.Algorithms {
		if !slices.Contains(algorithms(), algorithm) {
			return c, fmt.Errorf("Config.Algorithms: %q is unknown or not asymmetric", algorithm)
		}
	}
	if len(c.Algorithms) == 0 {
		c.Algorithms = algorithms()
	}
	c.ClientAuth = cmp.Or(c.ClientAuth, SecretBasic)
	if c.ClientAuth != SecretBasic && c.ClientAuth != SecretPost {
		return c, fmt.Errorf("Config.ClientAuth: %q is neither %s nor %s", c.ClientAuth, SecretBasic, SecretPost)
	}
	for name, value := range map[string]time.Duration{"Config.Timeout": c.Timeout, "Config.KeysRetry": c.KeysRetry} {
		if value < 0 {
			return c, fmt.Errorf("%s: %s is negative", name, value)
		}
	}
	c.Skew = max(0, cmp.Or(c.Skew, 30*time.Second))
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.KeysRetry = cmp.Or(c.KeysRetry, 10*time.Second)
	c.IntrospectionTTL = max(0, cmp.Or(c.IntrospectionTTL, time.Second))
	c.CacheEntries = max(0, cmp.Or(c.CacheEntries, 10_000))
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}
