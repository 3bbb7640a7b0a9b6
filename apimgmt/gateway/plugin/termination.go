package plugin

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// RequestTermination is the kind "request-termination": it answers every request
// itself, or those with a certain header field or query parameter.
//
//	status_code   200 to 599; 503 by default
//	message       the message of a JSON answer
//	body          the body as it is, in place of message
//	content_type  its type
//	trigger       the name of the field or parameter; empty means every request
func RequestTermination() gateway.Kind {
	return gateway.Kind{Name: "request-termination", Priority: 2, Config: func() any { return newTermination() }, Compile: compileTermination}
}

type termination struct {
	StatusCode  int    `json:"status_code"`
	Message     string `json:"message"`
	Body        string `json:"body"`
	ContentType string `json:"content_type"`
	Trigger     string `json:"trigger"`
	Echo        bool   `json:"echo"`
}

// newTermination is a configuration with its defaults.
func newTermination() *termination { return &termination{StatusCode: http.StatusServiceUnavailable} }

func compileTermination(setup gateway.Setup) (gateway.Plugin, error) {
	c := newTermination()
	if err := setup.Decode(c); err != nil {
		return gateway.Plugin{}, err
	}
	switch {
	case c.StatusCode < 200 || c.StatusCode > 599:
		return gateway.Plugin{}, fmt.Errorf("config.status_code: %d is not between 200 and 599", c.StatusCode)
	case c.Message != "" && c.ContentType+c.Body != "":
		return gateway.Plugin{}, errors.New("config.message: cannot be used with content_type or body")
	case c.ContentType != "" && c.Body == "":
		return gateway.Plugin{}, errors.New("config.content_type: requires a body")
	case c.Echo:
		return gateway.Plugin{}, errors.New("config.echo: is not supported")
	}
	return gateway.Plugin{Access: c.access}, nil
}

func (c *termination) access(x *gateway.Exchange) *gateway.Answer {
	if c.Trigger != "" {
		r := x.Request()
		if r.Header.Get(c.Trigger) == "" && !r.URL.Query().Has(c.Trigger) {
			return nil
		}
	}
	if c.Body != "" {
		answer := &gateway.Answer{Status: c.StatusCode, Text: c.Body}
		if c.ContentType != "" {
			answer.Header = http.Header{"Content-Type": {c.ContentType}}
		}
		return answer
	}
	message := c.Message
	if message == "" {
		message = http.StatusText(c.StatusCode)
	}
	return gateway.Refuse(c.StatusCode, message)
}
