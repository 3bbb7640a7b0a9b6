package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway/internal/h1"
)

// relay sends the response of a service to the client.
func (f *forwarding) relay(response *http.Response, cancel context.CancelCauseFunc) {
	x := f.x
	if response.StatusCode == http.StatusSwitchingProtocols {
		f.upgrade(response)
		return
	}
	defer func() { _ = response.Body.Close() }() // reading has returned its error
	header := x.writer.Header()
	for name, values := range response.Header {
		if !hopByHop(name) {
			header[name] = append(header[name], values...)
		}
	}
	removeNamed(header, response.Header["Connection"])
	for name := range response.Trailer {
		header["Trailer"] = append(header["Trailer"], name)
	}
	via := viaVersion(response.ProtoMajor, response.ProtoMinor) + x.gateway.options.Name
	if before := header["Via"]; len(before) > 0 {
		via = strings.Join(before, ", ") + ", " + via
	}
	header["Via"] = []string{via}
	setLatency(header, x)
	x.head(response.StatusCode, true)

	flush := response.ContentLength < 0 || strings.HasPrefix(header.Get("Content-Type"), "text/event-stream")
	if flush && response.ContentLength != 0 {
		if err := flushNow(x.writer); err != nil {
			x.failure = &clientError{err}
			return
		}
	}
	idle := newIdleTimer(response.Body, x.route.service.read, cancel)
	x.send(idle, flush)
	idle.stop()
	if x.failure != nil {
		return
	}
	for name, values := range response.Trailer {
		for _, value := range values {
			x.trailer(name, value)
		}
	}
}

// relayPlain is relay of a response that h1 has read.
func (f *forwarding) relayPlain(response *h1.Response) {
	x := f.x
	header := x.writer.Header()
	backing := make([]string, 0, response.Count())
	var connection []string
	events := false
	for i := range response.Count() {
		name, value := response.Field(i)
		switch {
		case name == "Connection":
			connection = append(connection, value)
		case name == "Trailer":
			header[name] = append(header[name], value)
		case hopByHop(name):
		case header[name] != nil:
			header[name] = append(header[name], value)
		default:
			backing = append(backing, value)
			n := len(backing)
			header[name] = backing[n-1 : n : n]
		}
		events = events || (name == "Content-Type" && strings.HasPrefix(value, "text/event-stream"))
	}
	removeNamed(header, connection)
	if before := header["Via"]; len(before) > 0 {
		header["Via"] = []string{strings.Join(before, ", ") + ", " + viaVersion(1, response.Minor) + x.gateway.options.Name}
	} else {
		header["Via"] = x.gateway.via(1, response.Minor)
	}
	setLatency(header, x)
	x.head(response.Status, true)
	flush := response.Length < 0 || events
	if flush {
		if err := flushNow(x.writer); err != nil {
			x.failure = &clientError{err}
			return
		}
	}
	x.send(response, flush)
	if x.failure != nil {
		return
	}
	response.Trailers(func(name, value string) {
		if !hopByHop(name) && name != "Content-Length" {
			x.trailer(name, value)
		}
	})
}

// trailer sends a field after the body, whether it was announced or not.
func (x *Exchange) trailer(name, value string) {
	header := x.writer.Header()
	if !listed(header["Trailer"], name) {
		name = http.TrailerPrefix + name
	}
	header[name] = append(header[name], value)
}

// idleTimer reads a body and ends the request when the service pauses too long.
type idleTimer struct {
	body  io.Reader
	limit time.Duration
	timer *time.Timer
}

func newIdleTimer(body io.Reader, limit time.Duration, cancel context.CancelCauseFunc) *idleTimer {
	return &idleTimer{body: body, limit: limit, timer: time.AfterFunc(limit, func() { cancel(errTimeout) })}
}

// Read reads within the time.
func (t *idleTimer) Read(p []byte) (int, error) {
	t.timer.Reset(t.limit)
	n, err := t.body.Read(p)
	t.timer.Stop() // the client may take its time
	return n, err
}

func (t *idleTimer) stop() { t.timer.Stop() }

// upgrade connects client and service after both have agreed on another protocol.
func (f *forwarding) upgrade(response *http.Response) {
	x := f.x
	asked, agreed := requestedUpgrade(x.upstream.Header), requestedUpgrade(response.Header)
	service, ok := response.Body.(io.ReadWriteCloser)
	if !ok || asked == "" || !strings.EqualFold(asked, agreed) {
		_ = response.Body.Close()
		x.refuse(http.StatusBadGateway, "An invalid response was received from the upstream server", ReasonInvalid)
		return
	}
	defer func() { _ = service.Close() }()
	header := x.writer.Header()
	for name, values := range response.Header {
		if !hopByHop(name) {
			header[name] = values
		}
	}
	header["Connection"] = []string{"Upgrade"}
	header["Upgrade"] = []string{agreed}
	setLatency(header, x)
	x.head(http.StatusSwitchingProtocols, true)
	client, buffered, err := http.NewResponseController(x.writer).Hijack()
	if err != nil {
		x.failure = fmt.Errorf("switch protocols: %w", err)
		return
	}
	x.response.Status = http.StatusSwitchingProtocols
	f.tunnel(client, buffered.Reader, service)
}

// tunnel copies in both directions until one end is closed, which closes the other.
func (f *forwarding) tunnel(client io.WriteCloser, fromClient io.Reader, service io.ReadWriteCloser) {
	x := f.x
	type end struct {
		n   int64
		err error
	}
	upward := make(chan end, 1)
	go func() {
		n, err := io.Copy(service, fromClient)
		_ = service.Close()
		upward <- end{n, err}
	}()
	n, err := io.Copy(client, service)
	_ = client.Close()
	_ = service.Close()
	up := <-upward
	x.sent, x.read = n, up.n
	if cause := errors.Join(err, up.err); cause != nil {
		x.gateway.options.Logger.Debug("tunnel closed", "route", x.route.entity.Name, "error", cause)
	}
}
