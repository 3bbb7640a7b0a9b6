package flower

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"time"
)

// Bounds and defaults of a [ServerConfig].
const (
	// DefaultMaxMessage is the limit of Flower clients up to 1.15: 512 MiB.
	DefaultMaxMessage = 512 << 20
	// MaxMessage is the greatest limit, that of protobuf: 2 GiB less one byte.
	MaxMessage       = math.MaxInt32
	defaultUploads   = 1 << 30
	defaultWindow    = 256 << 10
	leastWindow      = 64 << 10
	defaultKeepAlive = 210 * time.Second
	defaultStall     = time.Minute
	defaultIdle      = 2 * time.Minute
	defaultClients   = 20_000
)

// Peer describes the client end of a connection.
type Peer struct {
	// Addr is its network address, host and port.
	Addr string
	// Certificates is the verified chain of mutual TLS, the client's certificate
	// first. It is nil without mutual TLS.
	Certificates []*x509.Certificate
	// Name is what ServerConfig.Authorize returned, such as the name of a token.
	Name string
	// Relay describes a client whose stream another server relays. Nil means one that is
	// connected to this server.
	Relay *Relayed
	// Header returns a header of the client's call, such as one that a proxy sets,
	// or an empty string. The header ":authority" is the host and port that the
	// client called.
	Header func(key string) string
}

// Label returns the name that a client gives itself, which proves nothing; empty if it
// gives none, or one that is not fit to be shown.
func (p Peer) Label() string {
	if p.Header == nil {
		return ""
	}
	if name := p.Header(nameHeader); isLabel(name) {
		return name
	}
	return ""
}

// isLabel reports whether a client may call itself so: printable ASCII, of at most
// [MaxName] characters.
func isLabel(name string) bool {
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(name) <= MaxName && strings.TrimSpace(name) == name
}

// Identify names a client by its certificate: by the first DNS name, or else by
// the common name. Without a certificate, the name is the address with the
// scheme of gRPC, as in "ipv4:192.0.2.1:5678", after the name that
// ServerConfig.Authorize returned, as in "hospital-7@ipv4:192.0.2.1:5678": clients
// that share a token stay apart. It changes whenever the client reconnects. Clients of one
// process, and those behind a proxy, may share a connection, and so the address: the server
// adds a number to the name of each but the first, as in "ipv4:192.0.2.1:5678/2".
func Identify(peer Peer) (string, error) {
	if len(peer.Certificates) > 0 {
		own := peer.Certificates[0]
		if len(own.DNSNames) > 0 {
			return own.DNSNames[0], nil
		}
		if own.Subject.CommonName == "" {
			return "", errors.New("the client's certificate has neither a DNS name nor a common name")
		}
		return own.Subject.CommonName, nil
	}
	before := ""
	if peer.Name != "" {
		before = peer.Name + "@"
	}
	host, _, err := net.SplitHostPort(peer.Addr)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.To4() == nil {
		return before + "ipv6:" + peer.Addr, nil
	}
	return before + "ipv4:" + peer.Addr, nil
}

// ServerConfig configures a [Server].
type ServerConfig struct {
	// Handle is called for every client that joins, in a goroutine of its own. The
	// session ends when Handle returns. If the session ends before, the context
	// ends and its cause says why. An error that Handle returns is sent to the
	// client. Required.
	Handle func(ctx context.Context, session *Session) error
	// Authorize returns a name of the caller that may train, for logs and reports, or
	// an error that refuses the caller. It is called once for each stream of a client and
	// for each call of a SuperNode, concurrently, before anything of the call is read. The
	// context is that of the call. The client receives the text of the error, and the
	// code of its gRPC status if it has one. Otherwise a method HTTPStatus() int decides:
	// 401 means UNAUTHENTICATED, 429 RESOURCE_EXHAUSTED and 503 UNAVAILABLE. All other
	// errors mean PERMISSION_DENIED. A session that has begun is not checked again.
	// Several clients may have the same name. Nil lets every client in, without a name.
	Authorize func(ctx context.Context, caller Caller) (name string, err error)
	// Relay returns nil if the caller that knows the token may relay clients, as
	// [Session.Relay] does: it is trusted with who they are, and Authorize is not called.
	// It is called concurrently. Nil refuses all.
	Relay func(token string) error
	// Fleet is where SuperNodes connect, host and port, for the sentence with which those
	// that call this server are refused. Empty means that they have no port.
	Fleet string
	// Identify names a client; an error refuses the client. Nil means [Identify].
	// A client that joins with the name of a joined client replaces it: the
	// session of the latter ends with [ErrReplaced]. A name that [Identify] makes of
	// an address is that of a stream, and replaces none.
	Identify func(peer Peer) (string, error)
	// MaxMessage is the largest message in bytes, in both directions, at most
	// [MaxMessage]. Zero means [DefaultMaxMessage].
	MaxMessage int64
	// Uploads bounds the bytes of all answers that are being read or are not yet
	// released. An answer that is larger is admitted alone. Zero means 1 GiB.
	Uploads int64
	// Admit replaces Uploads. It is called before the body of an answer is read
	// and may block until its context ends. The server calls release when the
	// answer is released.
	Admit func(ctx context.Context, client string, size int64) (release func(), err error)
	// Window is how many bytes a client may send ahead of admission, at least
	// 64 KiB. Zero means 256 KiB.
	Window int
	// MaxClients bounds the streams of one connection, and the streams of all
	// connections. Zero means 20,000.
	MaxClients int
	// TLS makes Serve use TLS, and mutual TLS if its ClientAuth says so. It needs
	// a certificate. Nil means unencrypted connections.
	TLS *tls.Config
	// KeepAlive is the time without traffic after which the server sends a ping on
	// a connection. Zero means 210 s, as in Flower.
	KeepAlive time.Duration
	// IdleTimeout is how long a connection without a session is kept. A client in a
	// session may be silent for as long as it likes. Zero means 2 minutes.
	IdleTimeout time.Duration
	// ConnState is as in [http.Server], with connections as the listener of
	// [Server.Serve] returns them. Nil does nothing.
	ConnState func(conn net.Conn, state http.ConnState)
	// Stall is how long a client may pause in the middle of an answer. Zero means
	// one minute.
	Stall time.Duration
	// Logger gets a record for every client that joins or leaves. Nil is silent.
	Logger *slog.Logger

	byAddress bool // whether clients without a certificate are named by their address
}

// withDefaults returns the configuration with defaults in place of zeros, and
// checks it.
func (c ServerConfig) withDefaults() (ServerConfig, error) {
	fill := func(v *int64, name string, otherwise, least, most int64) error {
		if *v == 0 {
			*v = otherwise
		}
		if *v < least || *v > most {
			return fmt.Errorf("configure flower server: %s is %d, must be %d to %d", name, *v, least, most)
		}
		return nil
	}
	window, clients := int64(c.Window), int64(c.MaxClients)
	err := errors.Join(
		fill(&c.MaxMessage, "MaxMessage", DefaultMaxMessage, 1, MaxMessage),
		fill(&c.Uploads, "Uploads", defaultUploads, 1, math.MaxInt64),
		fill(&window, "Window", defaultWindow, leastWindow, 1<<30),
		fill(&clients, "MaxClients", defaultClients, 1, 1<<24),
		fill((*int64)(&c.KeepAlive), "KeepAlive", int64(defaultKeepAlive), int64(time.Second), math.MaxInt64),
		fill((*int64)(&c.IdleTimeout), "IdleTimeout", int64(defaultIdle), int64(time.Millisecond), math.MaxInt64),
		fill((*int64)(&c.Stall), "Stall", int64(defaultStall), int64(time.Millisecond), math.MaxInt64),
	)
	c.Window, c.MaxClients = int(window), int(clients)
	if c.Handle == nil {
		err = errors.Join(err, errors.New("configure flower server: Handle is required"))
	}
	if c.TLS != nil && len(c.TLS.Certificates) == 0 && c.TLS.GetCertificate == nil && c.TLS.GetConfigForClient == nil {
		err = errors.Join(err, errors.New("configure flower server: TLS has no certificate"))
	}
	c.byAddress = c.Identify == nil
	if c.byAddress {
		c.Identify = Identify
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, err
}
