package plugin

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// RequestSizeLimiting is the kind "request-size-limiting": it refuses requests
// with a body that is too long. A body of unknown length is passed on as it arrives,
// and the request is cut off when it turns out too long, so that nothing is
// buffered.
//
//	allowed_payload_size    128 by default
//	size_unit               megabytes (the default), kilobytes or bytes
//	require_content_length  whether requests with a body have to say its length
func RequestSizeLimiting() gateway.Kind {
	return configured(gateway.Kind{
		Name:     "request-size-limiting",
		Summary:  "how long bodies may be",
		Priority: 951,
	}, newSize, compileSize)
}

type size struct {
	Allowed       int64  `json:"allowed_payload_size" about:"The longest body"`
	Unit          string `json:"size_unit" schema:"one_of=megabytes|kilobytes|bytes" about:"Unit of the longest body"`
	RequireLength bool   `json:"require_content_length" about:"Requests with a body have to say its length"`
}

// newSize is a configuration with its defaults.
func newSize() *size { return &size{Allowed: 128, Unit: "megabytes"} }

func compileSize(c *size, _ gateway.Setup) (gateway.Plugin, error) {
	factor := map[string]int64{"bytes": 1, "kilobytes": 1 << 10, "megabytes": 1 << 20}[c.Unit]
	if factor == 0 {
		return gateway.Plugin{}, fmt.Errorf("config.size_unit: %q is not megabytes, kilobytes or bytes", c.Unit)
	}
	if c.Allowed < 0 || c.Allowed > math.MaxInt64/factor {
		return gateway.Plugin{}, fmt.Errorf("config.allowed_payload_size: %d is out of range", c.Allowed)
	}
	limit := c.Allowed * factor
	return gateway.Plugin{Access: func(x *gateway.Exchange) *gateway.Answer { return c.access(x, limit) }}, nil
}

func (c *size) access(x *gateway.Exchange, limit int64) *gateway.Answer {
	up := x.Upstream()
	switch {
	case up.Length > limit:
		if strings.EqualFold(x.Request().Header.Get("Expect"), "100-continue") {
			return gateway.Refuse(http.StatusExpectationFailed, "Request size limit exceeded")
		}
		return gateway.Refuse(http.StatusRequestEntityTooLarge, "Request size limit exceeded")
	case up.Length < 0 && c.RequireLength:
		return gateway.Refuse(http.StatusLengthRequired, "A valid Content-Length header is required")
	case up.Length < 0:
		up.Body = &limited{up.Body, limit}
	}
	return nil
}

// limited reads up to a number of bytes; more are an error.
type limited struct {
	body io.Reader
	left int64
}

// Read reads on.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.body.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, gateway.ErrBodyTooLong
	}
	return n, err
}
