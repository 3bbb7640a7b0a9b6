package devidp

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/iotenablers/enablers/storage"
)

// Roles of the API management.
const (
	// Developer may publish APIs.
	Developer = "Developer"
	// Admin may do everything that the servers offer.
	Admin = "admin"
	// OpenCaller may read the library of APIs.
	OpenCaller = "Open-Caller"
)

const (
	// sessionIdle is the lifetime of a refresh token, and of a session that is not used.
	sessionIdle = 30 * time.Minute
	// sessionMax is the longest lifetime of a session.
	sessionMax = 10 * time.Hour
	// keyAge is the age of a signing key after which a new one signs.
	keyAge = 90 * 24 * time.Hour
)

// Config configures a [Provider]. BaseURL, Realm
// and Documents are required.
type Config struct {
	// BaseURL is the address of the provider, with the path that precedes
	// /realms: "http://127.0.0.1:8999/auth".
	BaseURL string
	// Realm has the users, and the clients that they log in from.
	Realm Realm
	// Documents keeps keys, secrets, hashes and sessions; see storage.Prefixed. Any number of
	// Providers with the same BaseURL and Realm may share it, in as many processes.
	Documents storage.Documents

	// AccessTTL is the lifetime of access and ID tokens. 0 means 5 minutes.
	AccessTTL time.Duration
	// Sessions is the number of logins that are kept. 0 means 10,000. Providers that share Documents
	// may keep more for ten minutes.
	Sessions int
	// TokensPerSecond is the number of requests for tokens and logins that an address
	// may make in the long run, ten times as many at once. 0 means 20, negative
	// means any number. After 10 wrong passwords for a user, and 50 from an
	// address, each further attempt has to wait, up to 15 minutes. Of Providers that share
	// Documents each counts the requests and the wrong passwords of addresses for itself;
	// those for a user they count together.
	TokensPerSecond int
	// Hosts are names of the server besides that of BaseURL: over a loopback
	// connection, requests for other hosts than those, IP addresses and localhost get
	// a 421, because the owner of any name can point it to 127.0.0.1. Nil means none.
	Hosts []string
	// Logger receives logins, refusals and failures. Nil is silent.
	Logger *slog.Logger
}

// Realm is a group of users and the clients that they log in to.
type Realm struct {
	// Name is part of every address: letters, digits, ".", "_" and "-".
	Name string
	// Clients are the applications.
	Clients []Client
	// Users are the users of the realm.
	Users []User
}

// Client is an application of a realm.
type Client struct {
	// ID is its name, client_id.
	ID string
	// Public reports whether it cannot keep a secret: a page, or a program on the
	// machine of a user. It must use PKCE.
	Public bool
	// Secret is the secret of a client that is not public. Empty means one that is
	// generated at the first start, and kept.
	Secret string
	// BaseURL is where it is. Its origin may request tokens from a browser, and
	// everything below it is where a login may go back to.
	BaseURL string
	// Redirects are more addresses where a login may go back to. One that ends
	// in "/*" stands for everything below; all others are compared to the
	// letter.
	Redirects []string
	// Browser, Password and Service allow the authorization code flow, the
	// password grant and the client credentials grant.
	Browser, Password, Service bool
}

// User is a user of the realm.
type User struct {
	// Name is the name for logging in, without regard to case.
	Name string
	// Password is set at every start. Empty means the one that is kept, which
	// is generated at the first start.
	Password string
	// FirstName, LastName and Email are claims.
	FirstName, LastName, Email string
	// Roles are the realm roles of the user.
	Roles []string
}

// DemoAdmin is the user of [Demo] that has the role [Admin].
const DemoAdmin = "demoadmin"

// Demo returns the realm that API management expects, with users to try it:
// demouser and demodeveloper may publish, demoopencaller may read, [DemoAdmin] may do
// everything. portal is the
// base address of portal and publisher, gateway that of the gateway.
func Demo(portal, gateway string) Realm {
	return Realm{
		Name: "OpenAPI",
		Clients: []Client{
			{ID: "private-backend", BaseURL: portal, Browser: true, Password: true, Service: true},
			{ID: "kong", BaseURL: gateway, Browser: true, Password: true, Service: true},
			{ID: "public-frontend", Public: true, BaseURL: portal, Browser: true},
			{ID: "public-backend-access", Public: true, Password: true},
		},
		Users: []User{
			{Name: "demouser", FirstName: "Demo", LastName: "User", Email: "demouser@example.org", Roles: []string{Developer}},
			{Name: "demodeveloper", FirstName: "Demo", LastName: "Developer", Email: "demodeveloper@example.org", Roles: []string{Developer}},
			{Name: "demoopencaller", FirstName: "Demo", LastName: "Open-Caller", Email: "demoopencaller@example.org", Roles: []string{OpenCaller}},
			{Name: DemoAdmin, FirstName: "Demo", LastName: "Admin", Email: "demoadmin@example.org", Roles: []string{Developer, Admin}},
		},
	}
}

// withDefaults checks the configuration and fills in what was left out.
func (c Config) withDefaults() (Config, error) {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.RawQuery != "" ||
		base.Fragment != "" || base.User != nil:
		return c, fmt.Errorf("Config.BaseURL: %q: expected http://HOST/PATH or https://HOST/PATH", c.BaseURL)
	case strings.ContainsAny(base.Path, "{}%") || base.RawPath != "":
		return c, fmt.Errorf("Config.BaseURL: %q: its path has characters that cannot be served", c.BaseURL)
	case c.Documents == nil:
		return c, errors.New("no Config.Documents")
	case !plainName(c.Realm.Name):
		return c, fmt.Errorf("Realm.Name: %q is empty, or has other characters than letters, digits and ._-", c.Realm.Name)
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	for name, value := range map[string]time.Duration{
		"Config.AccessTTL": c.AccessTTL, "Config.Sessions": time.Duration(c.Sessions),
	} {
		if value < 0 {
			return c, fmt.Errorf("%s: it is negative", name)
		}
	}
	c.AccessTTL = cmp.Or(c.AccessTTL, 5*time.Minute)
	c.Sessions = cmp.Or(c.Sessions, 10_000)
	c.TokensPerSecond = cmp.Or(c.TokensPerSecond, 20)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, c.Realm.check()
}

func (r Realm) check() error {
	seen := map[string]bool{}
	for _, client := range r.Clients {
		switch {
		case !plainName(client.ID) || seen[client.ID]:
			return fmt.Errorf("client %q: the name is empty, taken, or has other characters than letters, digits and ._-", client.ID)
		case client.Public && (client.Secret != "" || client.Service):
			return fmt.Errorf("client %q: a public client has no secret, and no service account", client.ID)
		}
		seen[client.ID] = true
		for _, pattern := range client.patterns() {
			if err := checkPattern(pattern); err != nil {
				return fmt.Errorf("client %q: redirect %q: %w", client.ID, pattern, err)
			}
		}
	}
	clear(seen)
	for _, user := range r.Users {
		if !plainName(user.Name) || strings.ToLower(user.Name) != user.Name || seen[user.Name] {
			return fmt.Errorf("user %q: the name is empty, taken, or has other characters than small letters, digits and ._-", user.Name)
		}
		seen[user.Name] = true
	}
	return nil
}

// plainName is what can be part of an address and of a key as it is.
func plainName(name string) bool {
	return name != "" && len(name) <= 100 && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
}
