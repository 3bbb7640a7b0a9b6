package gateway

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/router"
)

// ServeHTTP serves one request. A response that breaks off passes on what came, and ends in a
// panic with http.ErrAbortHandler, which makes the server cut the connection: the client sees
// that something is missing.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x, _ := g.exchanges.Get().(*Exchange)
	if x == nil {
		x = &Exchange{}
	}
	*x = Exchange{
		gateway: g, table: g.acquire(), writer: w, request: r, received: time.Now(),
		passed: x.passedSpace[:0], values: x.values[:0], spareHeader: x.spareHeader,
	}
	over := false
	defer func() {
		if !over { // a plugin has panicked; the server deals with that
			if x.route != nil {
				x.route.stats.open.Add(-1)
			}
			x.span.End()
			g.leave(x.table)
			x.timing.Total = time.Since(x.received)
			x.because(ReasonPanic, nil)
			x.account()
		}
	}()
	x.serve()
	x.finish()
	over = true
	g.leave(x.table)
	broken := x.failure != nil && x.wrote
	if broken {
		x.passOn()
	} else {
		broken = !x.drain()
	}
	x.recycle()
	g.exchanges.Put(x)
	if broken {
		panic(http.ErrAbortHandler)
	}
}

// recycle lets go of everything but what the next exchange can use.
func (x *Exchange) recycle() {
	clear(x.values)
	clear(x.passed)
	if h := x.upstream.Header; h != nil {
		x.spareHeader = nil
		if !x.lent && len(h) <= 64 {
			clear(h)
			x.spareHeader = h
		}
	}
	*x = Exchange{values: x.values[:0], spareHeader: x.spareHeader}
}

// serve decides what happens to the request.
func (x *Exchange) serve() {
	r := x.request
	x.id = newID()
	x.identify()
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		x.refuse(http.StatusMethodNotAllowed, "Method not allowed", ReasonBadRequest)
		return
	}
	path := escapedPath(r)
	if path == "" || path[0] != '/' || !isHost(x.host) {
		x.refuse(http.StatusBadRequest, "Bad request", ReasonBadRequest)
		return
	}
	if x.gateway.loops(r.Header["Via"]) {
		x.refuse(http.StatusLoopDetected, "Loop detected", ReasonLoop)
		return
	}
	x.path = router.Normalize(path)
	readings, ok := router.Readings(x.path)
	if !ok {
		x.refuse(http.StatusBadRequest, "Bad request", ReasonBadRequest)
		return
	}
	request := router.Request{Method: r.Method, Path: x.path, Host: x.host, Port: x.port, Header: r.Header}
	if r.TLS != nil {
		request.TLS, request.ServerName = true, r.TLS.ServerName
	} else if x.scheme == "https" {
		request.TLS, request.ServerName = true, x.host
	}
	match, found := x.table.router.Find(&request)
	if !found {
		x.refuse(http.StatusNotFound, "no Route matched with those values", ReasonNoRoute)
		return
	}
	x.match, x.route = match, x.table.routes[match.Route]
	x.route.stats.begin()
	x.beginSpan()
	if x.evades(request, readings) {
		x.refuse(http.StatusBadRequest, "Bad request", ReasonBadRequest)
		return
	}
	if answer := x.checkProtocol(); answer != nil {
		if answer.status() >= http.StatusBadRequest || answer.Header["Grpc-Status"] != nil {
			x.because(ReasonProtocol, nil)
		}
		x.respond(answer)
		return
	}
	x.prepare()
	if answer := x.route.chains.of(x.scheme).access(x); answer != nil {
		x.respond(answer)
		return
	}
	if x.route.service == nil {
		x.refuse(http.StatusServiceUnavailable, "no Service found with those values", ReasonNoService)
		return
	}
	x.forward()
}

// escapedPath is the path as it was sent. That is what URL.EscapedPath returns,
// at less cost in most cases.
func escapedPath(r *http.Request) string {
	if r.URL.RawPath != "" || router.Escape(r.URL.Path) != r.URL.Path || strings.IndexByte(r.URL.Path, '%') >= 0 {
		return r.URL.EscapedPath()
	}
	return r.URL.Path
}

// newID returns 32 hexadecimal digits at random. They are no secret.
func newID() string {
	const hex = "0123456789abcdef"
	var digits [32]byte
	for i := 0; i < len(digits); i += 16 {
		n := rand.Uint64()
		for j := range 16 {
			digits[i+j] = hex[n&15]
			n >>= 4
		}
	}
	return string(digits[:])
}

// identify finds out client, scheme, host and port.
func (x *Exchange) identify() {
	r := x.request
	x.scheme, x.port = "http", 80
	if r.TLS != nil {
		x.scheme, x.port = "https", 443
	}
	if end, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		x.client = end.Addr().Unmap()
	}
	x.remote = r.RemoteAddr
	if i := strings.LastIndexByte(x.remote, ':'); i >= 0 {
		x.remote = strings.Trim(x.remote[:i], "[]")
	}
	if x.fromProxy = x.gateway.trusts(x.client); x.fromProxy {
		if proto := r.Header.Get("X-Forwarded-Proto"); proto == "http" || proto == "https" {
			x.scheme = proto
			x.port = map[string]int{"http": 80, "https": 443}[proto]
		}
		x.client = x.forwardedClient()
	}
	x.host = r.Host
	if i := strings.LastIndexByte(x.host, ':'); i >= 0 && strings.IndexByte(x.host[i:], ']') < 0 {
		if port, err := strconv.ParseUint(x.host[i+1:], 10, 16); err == nil {
			x.port = int(port)
		}
		x.host = x.host[:i]
	}
	x.host = strings.TrimSuffix(strings.ToLower(x.host), ".")
}

// trusts reports whether an address is that of a trusted proxy.
func (g *Gateway) trusts(a netip.Addr) bool {
	return len(g.options.TrustedProxies) > 0 && slices.ContainsFunc(g.options.TrustedProxies,
		func(p netip.Prefix) bool { return p.Contains(a) })
}

// forwardedClient is the last address in X-Forwarded-For that is not a trusted proxy:
// those before it are what the client says of itself.
func (x *Exchange) forwardedClient() netip.Addr {
	list := strings.Split(strings.Join(x.request.Header.Values("X-Forwarded-For"), ","), ",")
	client := x.client
	for _, text := range slices.Backward(list) {
		text = strings.TrimSpace(text)
		address, err := netip.ParseAddr(text)
		if err != nil {
			host, _, splitErr := net.SplitHostPort(text)
			if splitErr != nil {
				break
			}
			if address, err = netip.ParseAddr(host); err != nil {
				break
			}
		}
		client = address.Unmap()
		if !x.gateway.trusts(client) {
			break
		}
	}
	return client
}

// checkProtocol answers requests that came over a protocol which the route does
// not have.
func (x *Exchange) checkProtocol() *Answer {
	route := x.route
	if route.httpsOnly && x.scheme != "https" {
		if route.redirect == http.StatusUpgradeRequired {
			answer := Refuse(http.StatusUpgradeRequired, "Please use HTTPS protocol")
			answer.Header["Connection"] = []string{"Upgrade"}
			answer.Header["Upgrade"] = []string{"TLS/1.2, HTTP/1.1"}
			return answer
		}
		location := "https://" + x.host + router.Escape(x.path)
		if x.request.URL.RawQuery != "" {
			location += "?" + x.request.URL.RawQuery
		}
		return &Answer{Status: route.redirect, Header: http.Header{"Location": {location}}}
	}
	if !route.grpc {
		return nil
	}
	switch {
	case !strings.HasPrefix(x.request.Header.Get("Content-Type"), "application/grpc"):
		return Refuse(http.StatusUnsupportedMediaType, "Non-gRPC request matched gRPC route")
	case x.request.ProtoMajor != 2:
		answer := Refuse(http.StatusUpgradeRequired, "Please use HTTP2 protocol")
		answer.Header["Connection"] = []string{"Upgrade"}
		answer.Header["Upgrade"] = []string{"HTTP/2"}
		return answer
	case !route.plain && x.scheme != "https":
		return &Answer{Header: http.Header{
			"Content-Type": {"application/grpc"}, "Grpc-Status": {"1"}, "Grpc-Message": {"gRPC request matched gRPCs route"},
		}}
	}
	return nil
}

// refuse answers with a message of the gateway's own, for a reason.
func (x *Exchange) refuse(status int, message string, why Reason) {
	x.because(why, nil)
	answer := Refuse(status, message)
	if strings.HasPrefix(x.request.Header.Get("Content-Type"), "application/grpc") {
		answer.Header["Grpc-Status"] = []string{grpcStatus(status)}
		answer.Header["Grpc-Message"] = []string{message}
	}
	x.respond(answer)
}

// grpcStatus maps a status of HTTP as gRPC clients do (doc/http-grpc-status-mapping.md).
func grpcStatus(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "13"
	case http.StatusUnauthorized:
		return "16"
	case http.StatusForbidden:
		return "7"
	case http.StatusNotFound:
		return "12"
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return "14"
	}
	return "2"
}

// respond sends an answer of a plugin or of the gateway.
func (x *Exchange) respond(answer *Answer) {
	if x.route == nil {
		for _, s := range x.table.global.of(x.scheme) {
			if s.base != nil {
				x.passed = append(x.passed, s.base)
			}
		}
	}
	header := x.writer.Header()
	for name, values := range answer.Header {
		if name = http.CanonicalHeaderKey(name); name == "Connection" { // the server may have said that it ends
			values = append(header[name], values...)
		}
		header[name] = values
	}
	body := answer.Body
	length := int64(-1)
	if body == nil {
		body, length = strings.NewReader(answer.Text), int64(len(answer.Text))
	}
	if header["Content-Length"] == nil && length >= 0 && bodyAllowed(answer.status()) {
		header["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	if header["Server"] == nil {
		header["Server"] = []string{x.gateway.options.Name}
	}
	x.head(answer.status(), false)
	x.send(body, false)
	if closer, ok := answer.Body.(io.Closer); ok {
		x.failure = errors.Join(x.failure, closer.Close())
	}
}

// finish runs the Log phase and keeps account of the request.
func (x *Exchange) finish() {
	x.timing.Total = time.Since(x.received)
	for _, i := range x.passed {
		if i.plugin.Log != nil {
			i.plugin.Log(x)
		}
	}
	x.gateway.traffic.done(x)
	x.endSpan()
	x.account()
}
