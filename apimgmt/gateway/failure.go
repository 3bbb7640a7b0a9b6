package gateway

import (
	"cmp"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/h1"
	"github.com/iotenablers/enablers/internal/outbound"
)

// Reason says why a request has failed.
type Reason string

// The reasons, by where they are found. A request has failed if its status is 400 or above, if its
// response was broken off, or if it is a call of gRPC that the gateway has refused.
const (
	// ReasonBadRequest is a path, a host or a body that the gateway does not take, or a method.
	ReasonBadRequest Reason = "bad_request"
	// ReasonLoop is a request that has passed the gateway too often.
	ReasonLoop Reason = "loop"
	// ReasonNoRoute is a request that no route matches.
	ReasonNoRoute Reason = "no_route"
	// ReasonProtocol is a request over a protocol that its route does not have.
	ReasonProtocol Reason = "protocol"
	// ReasonPlugin is an answer of a plugin, which [Failure.Plugin] names.
	ReasonPlugin Reason = "plugin"
	// ReasonTooLarge is a body that is longer than is allowed.
	ReasonTooLarge Reason = "body_too_large"
	// ReasonSlowBody is a client that did not send the rest of its body in time.
	ReasonSlowBody Reason = "body_timeout"
	// ReasonClientClosed is a client that has closed the connection.
	ReasonClientClosed Reason = "client_closed"

	// ReasonNoService is a route without a service.
	ReasonNoService Reason = "no_service"
	// ReasonNoTarget is an upstream without a target that may be used.
	ReasonNoTarget Reason = "no_target"
	// ReasonForbidden is a service at an address that is not allowed.
	ReasonForbidden Reason = "address_forbidden"
	// ReasonDNS is a host of a service whose name cannot be resolved.
	ReasonDNS Reason = "dns"
	// ReasonRefused is a service that refuses connections.
	ReasonRefused Reason = "refused"
	// ReasonUnreachable is a service that cannot be connected to otherwise.
	ReasonUnreachable Reason = "unreachable"
	// ReasonTLS is a service with which TLS cannot be set up.
	ReasonTLS Reason = "tls"
	// ReasonTimeout is a service that does not answer, or go on, in time.
	ReasonTimeout Reason = "timeout"
	// ReasonInvalid is an answer that is not HTTP, or a connection that ends before one.
	ReasonInvalid Reason = "invalid_response"
	// ReasonIncomplete is an answer that ends before what it has promised.
	ReasonIncomplete Reason = "incomplete"
	// ReasonService is an answer of the service with a status of 400 or above.
	ReasonService Reason = "service"
	// ReasonPanic is a plugin that has panicked.
	ReasonPanic Reason = "panic"
)

// Failure is a request that has failed. It has nothing of its query, its header fields and its
// body.
type Failure struct {
	// Time is the time at which the request arrived.
	Time time.Time `json:"time"`
	// ID is the ID of [Exchange.ID].
	ID string `json:"id"`
	// Reason says why it has failed, Plugin is the name of the plugin that answered, and Error the cause where
	// there is one, without what others have sent.
	Reason Reason `json:"reason"`
	Plugin string `json:"plugin,omitempty"`
	Error  string `json:"error,omitempty"`
	// Status is the status of the response, 499 if the client was gone before it, and zero if there was none.
	Status int `json:"status"`
	// Method, Host and Path are those of the request. Longer ones are cut.
	Method string `json:"method"`
	Host   string `json:"host,omitempty"`
	Path   string `json:"path"`
	// RouteID, Route and Service name the route and its service, if one has matched.
	RouteID string `json:"route_id,omitempty"`
	Route   string `json:"route,omitempty"`
	Service string `json:"service,omitempty"`
	// Consumer is the name or, without one, the id of the consumer, and Subject the caller without one.
	Consumer string `json:"consumer,omitempty"`
	Subject  string `json:"subject,omitempty"`
	// Peer is the address of the service that was tried last.
	Peer string `json:"peer,omitempty"`
	// Client is the address of the client.
	Client string `json:"client,omitempty"`
	// Total is its duration.
	Total time.Duration `json:"total"`
	// Account has the ID, Route and Service under which [Gateway.Traffic] counts the request.
	Account RouteTraffic `json:"-"`
}

// Bounds of what is kept and logged of a request.
const (
	keptFailures = 200
	longestText  = 512 // bytes of a path or a host
	longestCause = 200 // bytes of the text of an error
)

// failures are the last requests that have failed.
type failures struct {
	mu    sync.Mutex
	ring  [keptFailures]Failure
	count uint64
}

// add keeps a failure, without memory of its request.
func (f *failures) add(one Failure) {
	one.Path = strings.Clone(one.Path)
	one.Host = strings.Clone(one.Host)
	one.Subject = strings.Clone(one.Subject)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ring[f.count%keptFailures] = one
	f.count++
}

// Failures returns the last requests that have failed, 200 at most, the latest first.
func (g *Gateway) Failures() []Failure {
	f := &g.failures
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(f.count, keptFailures)
	last := make([]Failure, 0, n)
	for i := range n {
		last = append(last, f.ring[(f.count-1-i)%keptFailures])
	}
	return last
}

// because notes why the request fails. The first reason counts.
func (x *Exchange) because(why Reason, cause error) {
	if x.reason == "" {
		x.reason, x.cause = why, cause
	}
}

// failureReason returns why the request has failed; it is empty if it has not.
func (x *Exchange) failureReason() Reason {
	var gone *clientError
	switch {
	case x.failure != nil && (errors.As(x.failure, &gone) || x.request.Context().Err() != nil):
		return ReasonClientClosed
	case x.reason != "":
		return x.reason
	case x.failure != nil && isTimeout(x.failure):
		return ReasonTimeout
	case x.failure != nil && x.response.Proxied:
		return ReasonIncomplete
	case x.failure == nil && x.response.Status < http.StatusBadRequest:
		return ""
	case x.response.Proxied:
		return ReasonService
	}
	return ReasonPlugin
}

// connectReason returns why a service could not be asked.
func connectReason(err error) Reason {
	var unresolved *net.DNSError
	var unverified *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var operation *net.OpError
	switch {
	case errors.Is(err, outbound.ErrRefused):
		return ReasonForbidden
	case errors.As(err, &unresolved):
		return ReasonDNS
	case errors.As(err, &unverified), errors.As(err, &record), errors.As(err, &alert):
		return ReasonTLS
	case isTimeout(err):
		return ReasonTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return ReasonRefused
	case errors.Is(err, h1.ErrStale), errors.Is(err, h1.ErrInvalidResponse):
		return ReasonInvalid
	case errors.As(err, &operation) && operation.Op == "dial":
		return ReasonUnreachable
	case errors.As(err, &operation) && operation.Op == "remote error": // an alert of the other end
		return ReasonTLS
	}
	return ReasonInvalid
}

// newFailure describes the request for one reason. It may share memory with the request.
func (x *Exchange) newFailure(why Reason) Failure {
	f := Failure{
		Time: x.received, ID: x.id, Reason: why, Status: x.response.Status, Method: knownMethod(x.request.Method),
		Path: cut(x.path, longestText), Peer: x.peer, Total: x.timing.Total,
	}
	if isHost(x.host) {
		f.Host = cut(x.host, longestText)
	}
	counted := x.counted()
	f.Account = RouteTraffic{ID: counted.id, Route: counted.route, Service: counted.service}
	if x.client.IsValid() {
		f.Client = x.client.String()
	}
	if x.answered != nil {
		f.Plugin = x.answered.entity.Name
	}
	if x.route != nil {
		f.RouteID, f.Route = x.route.entity.ID, cmp.Or(x.route.entity.Name, x.route.entity.ID)
		if s := x.route.service; s != nil {
			f.Service = cmp.Or(s.entity.Name, s.entity.ID)
		}
	}
	f.Consumer, f.Subject = x.caller()
	if cause := errors.Join(x.cause, x.failure); cause != nil {
		f.Error = errorText(cause)
	}
	return f
}

// caller names the consumer, or the subject of a caller without one.
func (x *Exchange) caller() (consumer, subject string) {
	if c := x.identity.Consumer; c != nil {
		return cmp.Or(c.Username, c.ID), ""
	}
	return "", cut(x.identity.Subject, longestCause)
}

// cut returns at most n bytes of a text.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

// errorText returns the text of an error up to what it quotes: that is of others, and may be anything.
func errorText(err error) string {
	text := err.Error()
	if i := strings.IndexAny(text, "\"`\n"); i >= 0 {
		text = text[:i] + "…"
	}
	return cut(text, longestCause)
}
