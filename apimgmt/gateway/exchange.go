package gateway

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
	"github.com/iotenablers/enablers/internal/tracing"
)

// Exchange is a request on its way through the gateway and back. Plugins see it in
// every phase. It belongs to one goroutine and must not be used after Log has
// returned: it is used again for another request.
//
// Its exported methods are what plugins may read and set, each a line or two. The
// unexported ones are the steps of the gateway; those between gateway and service are
// methods of forwarding.
type Exchange struct {
	gateway *Gateway
	table   *table
	writer  http.ResponseWriter
	request *http.Request

	path   string // normalised
	host   string // lower case, no port
	port   int
	client netip.Addr
	remote string // the other end of the connection, without its port
	scheme string
	match  router.Match
	route  *route // nil if none matches

	identity Identity
	upstream Upstream
	response Response
	passed   []*instance // the plugins of the request so far, in order
	values   []value

	received time.Time
	id       string
	timing   Timing
	sent     int64 // bytes of response body
	read     int64 // bytes of request body
	wrote    bool  // the head of the response is out
	failure  error

	reason   Reason    // why the request fails, as far as the gateway decides
	cause    error     // what a service was not asked for; may be nil
	answered *instance // the plugin that has answered

	clientBody *clientBody // nil if the request has none, or came over HTTP/2
	duplex     bool        // the response may begin before the request was read
	closing    bool        // the connection ends after the response

	peer string // address of the service that answered or was tried last

	span tracing.Span // of the request; off unless spans are recorded

	fromProxy   bool        // the other end is a trusted proxy
	lent        bool        // a transport may read upstream.Header after the exchange
	spareHeader http.Header // for the next exchange
	passedSpace [12]*instance
}

type value struct{ key, value any }

// Identity is the caller, as authenticated by a plugin.
type Identity struct {
	// Consumer is the consumer, or nil if the caller is not one of the configuration's.
	Consumer *entity.Consumer
	// Subject names the caller if there is no consumer, such as the "sub" of a
	// token.
	Subject string
	// Credential is the credential of the caller: the id of a key or of a client. It
	// is not a secret.
	Credential string
	// Claims has further attributes of the caller, such as the claims of a token;
	// the plugin that sets it says what it is. Plugins after it do not change it.
	Claims any
	// Anonymous reports whether the consumer stands for callers without credentials.
	Anonymous bool
}

// Upstream is the request as it goes to the service. Plugins may change it in
// Access.
type Upstream struct {
	// Method is the request's method.
	Method string
	// Path is the escaped path, and Query the part after "?", without it.
	Path, Query string
	// Host is the Host header. Empty means that of the address of the service.
	Host string
	// Header are the fields, without those that concern one connection only. The
	// X-Forwarded fields, X-Real-IP and Via are set when the request is forwarded.
	// Slices in the map are shared with the client's request: replace them, do not
	// change their elements.
	Header http.Header
	// Body is the request's body, and Length its length, -1 if that is unknown.
	// A plugin that replaces Body sets Length.
	Body   io.Reader
	Length int64
}

// SetPath sets Path to a path that is escaped, or normalised as that of the exchange is.
// It reports false, and changes nothing, if the path does not start with a slash or has
// empty or dot segments, which a service might resolve.
func (u *Upstream) SetPath(path string) bool {
	if !router.Resolved(path) {
		return false
	}
	u.Path = router.Escape(path)
	return true
}

// Response is the response as it goes to the client. Plugins may change it in
// Head.
type Response struct {
	// Status is the HTTP status.
	Status int
	// Header are the fields.
	Header http.Header
	// Proxied reports whether a service has answered, rather than a plugin or the gateway.
	Proxied bool
}

// Timing reports where the time went. Parts that did not happen are zero.
type Timing struct {
	// Upstream is from forwarding the request to the head of the response.
	Upstream time.Duration
	// Total is from the request to now, or to the end of the response once it is
	// over.
	Total time.Duration
}

// Context ends when the client goes away.
func (x *Exchange) Context() context.Context { return x.request.Context() }

// Request is the request as it came. Plugins do not change it, nor read its body:
// that is in Upstream.
func (x *Exchange) Request() *http.Request { return x.request }

// Path is the normalised path of the request.
func (x *Exchange) Path() string { return x.path }

// Host is the host of the request, in lower case and without port.
func (x *Exchange) Host() string { return x.host }

// Scheme is http or https, as the client has it or as a trusted proxy says.
func (x *Exchange) Scheme() string { return x.scheme }

// ClientIP is the address of the client: that of the connection, or what a trusted
// proxy says. It is the zero Addr if none exists.
func (x *Exchange) ClientIP() netip.Addr { return x.client }

// ID identifies the request: 32 hexadecimal digits, which service and client see
// as X-Kong-Request-Id.
func (x *Exchange) ID() string { return x.id }

// Route is the route of the request, or nil if none matches. It must not be
// changed.
func (x *Exchange) Route() *entity.Route {
	if x.route == nil {
		return nil
	}
	return x.route.entity
}

// Service is the service of the route, or nil if it has none. It must not be
// changed.
func (x *Exchange) Service() *entity.Service {
	if x.route == nil || x.route.service == nil {
		return nil
	}
	return x.route.service.entity
}

// Captures returns the named groups of the path expression that matched; nil if
// there are none.
func (x *Exchange) Captures() map[string]string { return x.match.Captures(x.path) }

// Capture returns one named group of the path expression that matched; it is empty if
// there is no such group.
func (x *Exchange) Capture(name string) string { return x.match.Capture(x.path, name) }

// Identity is the caller; the zero value until a plugin has authenticated the caller.
func (x *Exchange) Identity() Identity { return x.identity }

// Authenticate sets the caller. From then on the plugins of that consumer run.
func (x *Exchange) Authenticate(who Identity) { x.identity = who }

// Consumer returns the consumer of an id, user name or custom id, tried in that
// order; nil if none exists.
func (x *Exchange) Consumer(name string) *entity.Consumer { return x.table.consumer(name) }

// Key returns the credential of key-auth that has the key, and its consumer. ok is
// false if none exists or it has expired. The time it takes is independent of
// the key.
func (x *Exchange) Key(key string) (credential entity.Key, consumer *entity.Consumer, ok bool) {
	return x.table.key(key, x.received)
}

// Upstream is the request as it goes to the service.
func (x *Exchange) Upstream() *Upstream { return &x.upstream }

// Response is the response as it goes to the client. It is zero before Head.
func (x *Exchange) Response() *Response { return &x.response }

// Received is the time at which the request arrived.
func (x *Exchange) Received() time.Time { return x.received }

// Timing reports where the time went.
func (x *Exchange) Timing() Timing {
	t := x.timing
	if t.Total == 0 {
		t.Total = time.Since(x.received)
	}
	return t
}

// Bytes returns how many bytes of the bodies have passed so far.
func (x *Exchange) Bytes() (request, response int64) { return x.read, x.sent }

// Peer is the address of the service that answered, or was tried last.
func (x *Exchange) Peer() string { return x.peer }

// Err reports why a response was not sent as a whole; nil if it was.
func (x *Exchange) Err() error { return x.failure }

// Set keeps a value with the exchange, under a key of a type of the plugin's own, as
// with context.WithValue.
func (x *Exchange) Set(key, v any) {
	for i := range x.values {
		if x.values[i].key == key {
			x.values[i].value = v
			return
		}
	}
	x.values = append(x.values, value{key, v})
}

// Value returns what was kept under a key; nil if nothing was.
func (x *Exchange) Value(key any) any {
	for i := range x.values {
		if x.values[i].key == key {
			return x.values[i].value
		}
	}
	return nil
}
