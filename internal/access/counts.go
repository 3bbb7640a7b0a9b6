package access

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// outcome is what became of a request.
type outcome int

const (
	granted outcome = iota
	anonymous
	invalid
	forbidden
	slowed
	unavailable
	outcomes // how many there are
)

// String returns the value of the label.
func (o outcome) String() string {
	return [outcomes]string{"granted", "anonymous", "invalid", "forbidden", "slowed", "unavailable"}[o]
}

// classifyOutcome returns the outcome that an error of Admit stands for.
func classifyOutcome(err error) outcome {
	var wait *SlowedError
	var role *RoleError
	switch {
	case err == nil:
		return granted
	case errors.Is(err, ErrAnonymous):
		return anonymous
	case errors.Is(err, ErrInvalid):
		return invalid
	case errors.As(err, &role):
		return forbidden
	case errors.As(err, &wait):
		return slowed
	}
	return unavailable
}

// counts counts requests by outcome.
type counts [outcomes]atomic.Uint64

func (c *counts) add(o outcome) { c[o].Add(1) }

// metrics answers with the counts in the text format of Prometheus.
func (d *Door) metrics(w http.ResponseWriter, r *http.Request) error {
	var text strings.Builder
	text.WriteString("# HELP enablers_access_requests_total Requests at the door by outcome.\n" +
		"# TYPE enablers_access_requests_total counter\n")
	for o := range outcomes {
		fmt.Fprintf(&text, "enablers_access_requests_total{outcome=%q} %d\n", o, d.counts[o].Load())
	}
	if n, err := d.sessions.Count(r.Context()); err == nil { // otherwise the storage does not answer
		fmt.Fprintf(&text, "# HELP enablers_access_sessions Browsers that are signed in.\n"+
			"# TYPE enablers_access_sessions gauge\nenablers_access_sessions %d\n", n)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(text.String())) // a client that has gone is not an error
	return nil
}
