package plugin

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// Deprecation is the kind "deprecation", which Kong does not have: responses say
// that an API should not be used any more, and until when it can be.
//
//	at      since when it is deprecated, or will be: a date or a time (RFC 3339); required
//	sunset  when it goes away, not before at
//	link    an address with more about it
//
// They become the fields Deprecation (RFC 9745), Sunset (RFC 8594) and Link, with
// the relations deprecation and, if there is a sunset, sunset.
func Deprecation() gateway.Kind {
	return configured(gateway.Kind{
		Name:     "deprecation",
		Summary:  "answers say that the API goes away",
		Priority: 15,
	}, nil, compileDeprecation)
}

type deprecation struct {
	At     string `json:"at" schema:"required" about:"Since when the API is deprecated: a date or a time, such as 2026-11-23"`
	Sunset string `json:"sunset" about:"When it goes away"`
	Link   string `json:"link" about:"An address with more about it"`

	deprecated, sunset, links []string // values of the fields
}

func compileDeprecation(c *deprecation, _ gateway.Setup) (gateway.Plugin, error) {
	if c.At == "" {
		return gateway.Plugin{}, errors.New("config.at: it is required")
	}
	at, err := instant(c.At)
	if err != nil {
		return gateway.Plugin{}, fmt.Errorf("config.at: %w", err)
	}
	c.deprecated = []string{"@" + strconv.FormatInt(at.Unix(), 10)}
	if c.Sunset != "" {
		end, err := instant(c.Sunset)
		if err != nil {
			return gateway.Plugin{}, fmt.Errorf("config.sunset: %w", err)
		}
		if end.Before(at) {
			return gateway.Plugin{}, fmt.Errorf("config.sunset: %s is before %s", c.Sunset, c.At)
		}
		c.sunset = []string{end.UTC().Format(http.TimeFormat)}
	}
	if c.Link != "" {
		if _, err := url.Parse(c.Link); err != nil ||
			strings.ContainsFunc(c.Link, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`<>"\`, r) }) {
			return gateway.Plugin{}, errors.New("config.link: it is not an address")
		}
		c.links = []string{"<" + c.Link + `>; rel="deprecation"`}
		if c.sunset != nil {
			c.links = append(c.links, "<"+c.Link+`>; rel="sunset"`)
		}
	}
	return gateway.Plugin{Head: c.head}, nil
}

// instant reads a time, or a date, which begins at midnight UTC.
func instant(text string) (time.Time, error) {
	if at, err := time.Parse(time.DateOnly, text); err == nil {
		return at, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, fmt.Errorf("%q is neither a date nor a time such as 2026-12-31T00:00:00Z", text)
	}
	return at, nil
}

func (c *deprecation) head(x *gateway.Exchange) {
	header := x.Response().Header
	header["Deprecation"] = c.deprecated
	if c.sunset != nil {
		header["Sunset"] = c.sunset
	}
	for _, link := range c.links {
		header.Add("Link", link)
	}
}
