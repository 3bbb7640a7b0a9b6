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
	return configured(gateway.Kind{
		Name:     "request-termination",
		Summary:  "an answer without the service",
		Priority: 2,
	}, newTermination, compileTermination)
}

type termination struct {
	StatusCode  int    `json:"status_code" schema:"between=200..599" about:"Status of the answer"`
	Message     string `json:"message" about:"The message of an answer in JSON"`
	Body        string `json:"body" about:"The body of the answer, in place of the message"`
	ContentType string `json:"content_type" about:"Media type of the body"`
	Trigger     string `json:"trigger" about:"Only requests with this header field or parameter are answered; empty means all"`
	Echo        bool   `json:"echo" schema:"unsupported"`
}

// newTermination is a configuration with its defaults.
func newTermination() *termination { return &termination{StatusCode: http.StatusServiceUnavailable} }

func compileTermination(c *termination, _ gateway.Setup) (gateway.Plugin, error) {
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
