package door

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/cmd/internal/session"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/storage"
)

// TokenFile is the name of the file with the generated token.
const TokenFile = "access-token"

// SessionsPrefix begins the keys of sessions in storage that has other documents too.
const SessionsPrefix = "access/"

// Config configures [Settings.Open]. Name and Logger are required.
type Config struct {
	// Name is the name of the command.
	Name string
	// Dir is the data folder. Empty means that there is none: a generated token then
	// lasts as long as the process.
	Dir string
	// Listeners are those of the door. If other machines can reach one of them, the door
	// is not open unless a setting says so.
	Listeners []net.Listener
	// Tokens are further tokens that are accepted. If there are any, no token is
	// generated, and the door is not open unless a setting says so.
	Tokens []*access.TokenFile
	// TokensAt says on the sign-in page where Tokens are to be found, such as "the one in
	// the file token of the data folder". Empty leaves them out there.
	TokensAt string
	// Sessions keep the sessions of browsers, so that instances with the same documents share
	// them. Nil means that they end with the process.
	Sessions storage.Documents
	// Shared says that instances in other folders have the same Sessions. The generated token is
	// then with them, so that all accept it, and the file in Dir is for people.
	Shared bool
	// CertificateRole is that of access.Config.
	CertificateRole httpapi.Role
	// Logger logs what is decided.
	Logger *slog.Logger
}

// Door is the access of a server. Create one with [Settings.Open].
type Door struct {
	*access.Door
	// Fresh is the token that this Open has generated, empty if it has not.
	Fresh string
	// File is the file of the generated token, empty if there is none.
	File string

	tls      *tls.Config
	files    *server.Certificates // of tls
	tokens   []*access.TokenFile
	verifier io.Closer
	hints    []string     // where tokens are to be found, on the sign-in page
	backup   http.Handler // nil means that there is nothing to back up
	self     string       // a token of this process for its own listeners
	exposed  bool         // whether other machines can reach a listener
}

// Open reads the files that the settings name, and decides who is accepted. The caller
// closes the door after the listeners.
func (s *Settings) Open(ctx context.Context, config Config) (_ *Door, err error) {
	d := &Door{}
	if d.files, err = s.tls.Open(config.Logger); err != nil {
		return nil, err
	}
	d.tls = d.files.Config()
	d.self = rand.Text()
	ways, exposed := s.waysAt(config.Listeners, config.Tokens)
	d.exposed = exposed
	if config.TokensAt != "" {
		d.hints = append(d.hints, config.TokensAt)
	}
	c := access.Config{Name: config.Name, Tokens: config.Tokens, CertificateRole: config.CertificateRole,
		Hosts: s.hosts, Logger: config.Logger}
	if config.Sessions != nil {
		if c.Sessions, err = session.New(session.Config{Documents: config.Sessions}); err != nil {
			return nil, err
		}
	}
	for _, way := range ways {
		switch way {
		case wayNone:
			c.Open = true
		case wayToken:
			if s.tokens == "" && len(config.Tokens) > 0 {
				continue
			}
			file, hint, err := d.openTokens(ctx, s.tokens, config)
			if err != nil {
				return nil, err
			}
			c.Tokens, d.hints = append(slices.Clone(c.Tokens), file), append(d.hints, hint)
		case wayOIDC:
			from, err := newIssuer(s.issuer, s.audience, s.roleClaim, config.Logger)
			if err != nil {
				return nil, err
			}
			c.Verifier, d.verifier = from, from.verifier
			d.hints = append(d.hints, "an access token of the issuer "+s.issuer)
		case wayMTLS:
			c.Certificates = true
		}
	}
	if !c.Open {
		c.Self = access.NewToken(access.Identity{Name: "this process", Role: httpapi.Admin}, d.self)
	}
	d.tokens = c.Tokens
	if d.Door, err = access.New(c); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	switch {
	case c.Open && exposed:
		config.Logger.Warn("ACCESS IS OPEN: every client that reaches the server can do everything", "access", wayNone)
	case d.tls == nil && exposed:
		config.Logger.Warn("tokens cross the network in the clear; -tls-cert and -tls-key prevent that")
	}
	return d, nil
}

// waysAt returns the ways in which callers at listeners prove who they are, and whether other
// machines can reach one of them.
func (s *Settings) waysAt(listeners []net.Listener, tokens []*access.TokenFile) (ways []string, exposed bool) {
	exposed = slices.ContainsFunc(listeners, func(l net.Listener) bool { return !server.IsLoopback(l) })
	switch {
	case len(s.ways) > 0 || len(tokens) > 0:
		return s.ways, exposed
	case exposed:
		return []string{wayToken}, true
	}
	return []string{wayNone}, false
}

// openTokens opens the tokens of the file, or the generated one. The hint says where they are
// to be found.
func (d *Door) openTokens(ctx context.Context, file string, config Config) (_ *access.TokenFile, hint string, err error) {
	if file != "" {
		tokens, err := access.OpenTokens(ctx, file, config.Logger)
		if err != nil {
			return nil, "", cli.Usage(fmt.Errorf("-access-tokens: %w", err))
		}
		return tokens, "one of those in the file that -access-tokens names", nil
	}
	generated := access.Identity{Name: "generated", Role: httpapi.Admin}
	if config.Dir == "" {
		d.Fresh = rand.Text()
		config.Logger.Warn("there is no data folder, so the access token changes at every start; " +
			"-access-tokens names a file of tokens that last")
		return access.NewToken(generated, d.Fresh), "the one that the server printed when it started", nil
	}
	d.File = filepath.Join(config.Dir, TokenFile)
	text, fresh, err := d.generatedToken(ctx, config)
	if err != nil {
		return nil, "", err
	}
	if err := d.checkGenerated(text); err != nil {
		return nil, "", err
	}
	if fresh {
		d.Fresh = text
	}
	token := access.NewToken(generated, text)
	if !config.Shared { // else the file is a copy
		token = access.NewTokenFrom(generated, text, func() (string, error) {
			text, err := secretfile.ReadToken(d.File)
			if err == nil {
				err = d.checkGenerated(text)
			}
			return text, err
		})
	}
	return token, "the one in the file " + TokenFile + " of the data folder", nil
}

// Closed returns the door of a part of the server that identifies its callers although d is
// open, as that of [access.Door] does. Hint says where the token is to be found. Closed is
// called before a listener is served.
func (d *Door) Closed(token *access.TokenFile, hint string) *Door {
	d.hints = append(d.hints, hint)
	part := *d
	part.Door = d.Door.Closed(token)
	return &part
}

// Listener returns the listener with TLS on top if there is a certificate.
func (d *Door) Listener(listener net.Listener) net.Listener {
	if d.tls == nil {
		return listener
	}
	return tls.NewListener(listener, d.tls)
}

// TLS returns the configuration of the certificate, nil without one.
func (d *Door) TLS() *tls.Config { return d.tls }

// URL returns the address of a listener with its scheme.
func (d *Door) URL(listener net.Listener) string {
	return d.Scheme() + "://" + listener.Addr().String()
}

// Scheme returns "https" if listeners have TLS, and otherwise "http".
func (d *Door) Scheme() string {
	if d.tls != nil {
		return "https"
	}
	return "http"
}

// Client returns a client for requests of this process to its own listeners. Over TLS it
// accepts the certificate that they present and no other one, whatever names that has.
// The requests show no token; see [Door.Self].
func (d *Door) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{TLSClientConfig: d.ClientTLS()}}
}

// ClientTLS returns the configuration of Client for other protocols, nil without a
// certificate.
func (d *Door) ClientTLS() *tls.Config {
	if d.tls == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection compares the whole certificate
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) > 0 && slices.ContainsFunc(d.certificates(), state.PeerCertificates[0].Equal) {
				return nil
			}
			return errors.New("the certificate is not that of this process")
		},
	}
}

// RootCAs returns the authorities of the system and the certificate of the listeners with
// its chain, for clients that also call elsewhere; nil without a certificate. A certificate
// that is renewed later is among them if the chain has its authority.
func (d *Door) RootCAs() *x509.CertPool {
	if d.tls == nil {
		return nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	for _, pair := range d.tls.Certificates {
		for _, raw := range pair.Certificate {
			if one, err := x509.ParseCertificate(raw); err == nil {
				pool.AddCert(one)
			}
		}
	}
	return pool
}

// certificates returns the certificates that listeners present now.
func (d *Door) certificates() []*x509.Certificate {
	config := d.tls
	if config.GetConfigForClient != nil {
		if current, err := config.GetConfigForClient(nil); err == nil && current != nil {
			config = current
		}
	}
	var all []*x509.Certificate
	for _, pair := range config.Certificates {
		if own, err := x509.ParseCertificate(pair.Certificate[0]); err == nil {
			all = append(all, own)
		}
	}
	return all
}

// Self returns a token for requests of this process to its own listeners. It lasts as
// long as the process.
func (d *Door) Self() string { return d.self }

// BackUp sets what answers GET /.enablers/backup at all handlers of the door. It is called
// before a listener is served.
func (d *Door) BackUp(backup http.Handler) { d.backup = backup }

// Handler returns the handler with the door's own addresses.
func (d *Door) Handler(next http.Handler) http.Handler {
	return d.Door.Handler(next, &access.HandlerOptions{Hint: d.hint, Backup: func() http.Handler { return d.backup }})
}

// hint returns the sentence of all hints, empty without one.
func (d *Door) hint() string {
	text := strings.Join(d.hints, ", or ")
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// Announce prints where a token is that was generated now, and where to sign in with it. The
// token itself is printed if it is in no file, since stdout may be a log.
func (d *Door) Announce(stdout io.Writer, at net.Listener) {
	if d.Fresh == "" {
		return
	}
	where := "is in " + d.File
	if d.File == "" {
		where = "is valid until the server ends: " + d.Fresh
	}
	fmt.Fprintf(stdout, "a new access token %s\nsign in at %s%ssign-in, or send it as Authorization: Bearer TOKEN\n",
		where, server.Reachable(d.URL(at)), access.Prefix)
}

// Part returns the part that reads the certificate and the tokens again at a SIGHUP, those that
// are in files. A generated token that is in a store is not one of them.
func (d *Door) Part() server.Part {
	var files []string
	if d.files != nil {
		files = append(files, "certificate")
	}
	if slices.ContainsFunc(d.tokens, (*access.TokenFile).Reloads) {
		files = append(files, "tokens")
	}
	if files == nil {
		return server.Reloading("access", nil)
	}
	return server.Reloading(strings.Join(files, " and "), d.reload)
}

func (d *Door) reload(ctx context.Context) error {
	errs := []error{d.files.Reload(ctx)}
	for _, file := range d.tokens {
		errs = append(errs, file.Reload(ctx))
	}
	return errors.Join(errs...)
}

// Close ends what the door has started.
func (d *Door) Close() error {
	if d.verifier == nil {
		return nil
	}
	return d.verifier.Close()
}
