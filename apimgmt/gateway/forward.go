package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/balance"
	"github.com/iotenablers/enablers/apimgmt/gateway/internal/h1"
	"github.com/iotenablers/enablers/internal/outbound"
	"github.com/iotenablers/enablers/internal/tracing"
)

var errTimeout = errors.New("the service does not answer in time")

// forwarding is the part of an exchange between the gateway and the service.
type forwarding struct {
	x    *Exchange
	body *requestBody // nil if the request has none
	span tracing.Span // of the attempt; off unless spans are recorded
}

// forward sends the request to the service, to another target if one cannot be
// reached, and relays the response.
func (x *Exchange) forward() {
	if limit := x.gateway.options.MaxBody; limit > 0 && x.upstream.Length > limit {
		x.refuse(http.StatusRequestEntityTooLarge, "Payload too large", ReasonTooLarge)
		return
	}
	s := x.route.service
	x.setForwarded()
	if x.clientBody != nil {
		x.duplex = fullDuplex(x.writer)
	}
	var body *requestBody
	if x.upstream.Body != nil && x.upstream.Body != http.NoBody && x.upstream.Length != 0 {
		body = &requestBody{reader: x.upstream.Body, limit: x.gateway.options.MaxBody, log: x.gateway.options.Logger}
	}
	f := &forwarding{x: x, body: body}
	var space [4]*balance.Peer
	tried := space[:0]
	var hash uint64
	if s.pool != nil {
		hash = f.hash(s.pool)
	}
	for attempt := 0; ; attempt++ {
		peer := s.peer
		if s.pool != nil {
			if peer = s.pool.Pick(hash, tried); peer == nil && len(tried) > 0 {
				peer = s.pool.Pick(hash, nil) // every one was tried: once more
			}
			if peer == nil {
				x.refuse(http.StatusServiceUnavailable, "failure to get a peer from the ring-balancer", ReasonNoTarget)
				return
			}
			tried = append(tried, peer)
		}
		x.peer = peer.Address
		if f.attemptCounted(peer, attempt, attempt < s.retries) {
			break
		}
	}
	if body != nil {
		x.read = body.count.Load()
	}
}

// attemptCounted is attempt, counted as a request in flight even if a plugin panics.
func (f *forwarding) attemptCounted(peer *balance.Peer, number int, again bool) (done bool) {
	peer.Begin()
	defer peer.End()
	f.beginAttempt(number)
	defer func() { f.span.End() }()
	return f.attempt(peer, again)
}

// attempt sends the request to a peer. It returns false if another one is to be
// tried.
func (f *forwarding) attempt(peer *balance.Peer, again bool) (done bool) {
	x, body := f.x, f.body
	s := x.route.service
	host := x.upstream.Host
	if host == "" && s.pool != nil {
		host = s.pool.Spec().HostHeader
	}
	if host == "" {
		host = peer.HostHeader(s.scheme)
	}
	header := x.upstream.Header
	if s.client.plain == nil || header["Upgrade"] != nil || header["Expect"] != nil {
		return f.attemptOther(peer, host, again)
	}
	r := &h1.Request{
		Address: peer.Address, Method: x.upstream.Method, Target: x.upstream.Path, Host: host,
		Header: header, Length: x.upstream.Length,
	}
	if x.upstream.Query != "" || x.request.URL.ForceQuery {
		r.Target += "?" + x.upstream.Query
	}
	if body != nil {
		r.Body = body
	}
	started := time.Now()
	response, err := s.client.plain.Do(x.request.Context(), r)
	x.timing.Upstream = time.Since(started)
	if err != nil {
		f.endAttempt(0, err)
		f.reportHealth(peer, 0, err)
		return f.giveUp(err, again)
	}
	f.endAttempt(response.Status, nil)
	f.reportHealth(peer, response.Status, nil)
	f.relayPlain(response)
	response.Close()
	return true
}

// giveUp answers that a service has failed, unless another attempt can be made;
// then it returns false.
func (f *forwarding) giveUp(err error, again bool) (done bool) {
	if again && f.retryable(err) {
		return false
	}
	f.failed(err)
	return true
}

// attemptOther is attempt over net/http: with TLS, HTTP/2, an upgrade, or a client
// that waits for "100 Continue".
func (f *forwarding) attemptOther(peer *balance.Peer, host string, again bool) (done bool) {
	x, body := f.x, f.body
	s := x.route.service
	ctx, cancel := context.WithCancelCause(x.request.Context())
	defer cancel(nil)
	header := x.upstream.Header
	x.lent = true // the transport may look at it for longer than this takes
	if header["User-Agent"] == nil {
		header["User-Agent"] = nil // so that net/http sets none
	}
	request := (&http.Request{
		Method: x.upstream.Method, Host: host, Header: header,
		URL: &url.URL{
			Scheme: s.scheme, Host: peer.Address, Opaque: x.upstream.Path,
			RawQuery: x.upstream.Query, ForceQuery: x.request.URL.ForceQuery && x.upstream.Query == "",
		},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	var once *onceBody
	if body != nil {
		once = &onceBody{body: body}
		request.Body, request.ContentLength = once, x.upstream.Length
	}
	started := time.Now()
	response, err := s.client.transport.RoundTrip(request)
	x.timing.Upstream = time.Since(started)
	if err != nil {
		if once != nil && !once.abandon() {
			err = fmt.Errorf("%w: %w", h1.ErrBodyUsed, err)
		}
		f.endAttempt(0, err)
		f.reportHealth(peer, 0, err)
		return f.giveUp(err, again)
	}
	f.endAttempt(response.StatusCode, nil)
	f.reportHealth(peer, response.StatusCode, nil)
	f.relay(response, cancel)
	return true
}

// retryable reports whether a request that has failed may be sent again: nothing
// of its body is gone, and it has not reached a service, or does no harm twice.
func (f *forwarding) retryable(err error) bool {
	x := f.x
	if x.request.Context().Err() != nil || errors.Is(err, outbound.ErrRefused) || errors.Is(err, h1.ErrBodyUsed) {
		return false
	}
	var operation *net.OpError
	if errors.As(err, &operation) && operation.Op == "dial" {
		return true
	}
	switch x.upstream.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPut, http.MethodDelete:
		return !isTimeout(err)
	}
	return false
}

func isTimeout(err error) bool {
	var timeout interface{ Timeout() bool }
	return errors.Is(err, errTimeout) || (errors.As(err, &timeout) && timeout.Timeout())
}

// failed answers when no service did.
func (f *forwarding) failed(err error) {
	x, body := f.x, f.body
	if x.request.Context().Err() != nil {
		x.failure, x.wrote = &clientError{context.Cause(x.request.Context())}, true
		x.response.Status = statusClientClosed
		return
	}
	status, message := http.StatusBadGateway, "An invalid response was received from the upstream server"
	var unverified *tls.CertificateVerificationError
	var unresolved *net.DNSError
	switch {
	case body != nil && body.long.Load():
		x.refuse(http.StatusRequestEntityTooLarge, "Payload too large", ReasonTooLarge)
		return
	case body != nil && body.broken.Load():
		x.refuse(http.StatusBadRequest, "Bad request", ReasonBadRequest)
		return
	case body != nil && body.waiting.Load() && isTimeout(err):
		x.refuse(http.StatusRequestTimeout, "Request Timeout", ReasonSlowBody)
		return
	case isTimeout(err):
		status, message = http.StatusGatewayTimeout, "The upstream server is timing out"
	case errors.As(err, &unresolved):
		status, message = http.StatusServiceUnavailable, "name resolution failed"
	case errors.As(err, &unverified), errors.Is(err, outbound.ErrRefused):
		x.gateway.options.Logger.Warn("connect to service", "service", x.Service().Name, "peer", x.peer, "error", err)
	}
	x.because(connectReason(err), err)
	x.refuse(status, message, ReasonInvalid)
}

// statusClientClosed is what is counted when the client has gone (as of nginx).
const statusClientClosed = 499

// fullDuplex lets a response begin before the request was read. It returns false where
// that is not supported, and not needed.
func fullDuplex(w http.ResponseWriter) bool {
	if f, ok := w.(interface{ EnableFullDuplex() error }); ok {
		return f.EnableFullDuplex() == nil
	}
	return http.NewResponseController(w).EnableFullDuplex() == nil
}

// reportHealth counts the outcome of a request to a target. What the client has done to
// its own request is not held against the target.
func (f *forwarding) reportHealth(peer *balance.Peer, status int, err error) {
	x, body := f.x, f.body
	pool := x.route.service.pool
	if pool == nil || x.request.Context().Err() != nil || (err != nil && body != nil && body.toBlame(err)) {
		return
	}
	spec := pool.Spec()
	if spec.Healthchecks == nil {
		return
	}
	passive := &spec.Healthchecks.Passive
	outcome := balance.Answered
	switch {
	case err == nil:
	case isTimeout(err):
		outcome = balance.TimedOut
	default:
		outcome = balance.Unreachable
	}
	if peer.Report(&passive.Healthy, &passive.Unhealthy, outcome, status) {
		x.gateway.healthChanged(pool)(peer)
	}
}
