package plugin

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// RequestTransformer is the kind "request-transformer": it changes header fields,
// parameters of the query, path and method of what the service gets. In this order:
//
//	remove.headers, .querystring   names
//	rename.headers, .querystring   "old:new"
//	replace.headers, .querystring  "name:value", where there is one of the name
//	add.headers, .querystring      "name:value", where there is none
//	append.headers, .querystring   "name:value", in any case
//	replace.uri                    the path
//	http_method                    the method
//
// In replace.uri, $(uri_captures['id']) and $(uri_captures.id) stand for a named group
// of the route's expression; a group that the expression does not have is empty. Apart
// from that, values are taken as they are, and bodies are not changed: neither the
// other templates of Kong, "$(...)", nor its body lists are supported.
func RequestTransformer() gateway.Kind {
	return configured(gateway.Kind{
		Name:     "request-transformer",
		Summary:  "what the service gets of a request",
		Priority: 801,
	}, newTransformer, compileTransformer)
}

type transformer struct {
	Method  string      `json:"http_method" about:"Method of the request to the service; empty means that of the caller"`
	Remove  changes     `json:"remove" about:"Names of what is removed"`
	Rename  changes     `json:"rename" about:"old:new"`
	Replace replacement `json:"replace" about:"name:value, if the name is present"`
	Add     changes     `json:"add" about:"name:value, if the name is absent"`
	Append  changes     `json:"append" about:"name:value, in any case"`

	headers, query []step
	uri            []piece // of Replace.URI, if there is a template in it
}

// changes are those of one sort, as they are written.
type changes struct {
	Headers     []string `json:"headers"`
	Querystring []string `json:"querystring"`
	Body        []string `json:"body" schema:"unsupported"`
}

type replacement struct {
	changes
	URI string `json:"uri" about:"The path; $(uri_captures.id) is a group of the route's"`
}

// step is one change.
type step struct {
	sort        string // remove, rename, replace, add, append
	name, value string
}

// newTransformer is a configuration with its defaults.
func newTransformer() *transformer { return &transformer{} }

func compileTransformer(c *transformer, _ gateway.Setup) (gateway.Plugin, error) {
	if strings.ContainsFunc(c.Method, func(r rune) bool { return r < 'A' || r > 'Z' }) ||
		c.Method == http.MethodConnect || c.Method == http.MethodTrace {
		return gateway.Plugin{}, fmt.Errorf("config.http_method: %q is not a method that can be forwarded", c.Method)
	}
	if c.Replace.URI != "" {
		if err := c.parseURI(); err != nil {
			return gateway.Plugin{}, fmt.Errorf("config.replace.uri: %w", err)
		}
	}
	for _, of := range []struct {
		sort string
		all  changes
	}{{"remove", c.Remove}, {"rename", c.Rename}, {"replace", c.Replace.changes}, {"add", c.Add}, {"append", c.Append}} {
		if len(of.all.Body) > 0 {
			return gateway.Plugin{}, fmt.Errorf("config.%s.body: bodies are not changed", of.sort)
		}
		for _, text := range of.all.Headers {
			s, err := headerStep(of.sort, text)
			if err != nil {
				return gateway.Plugin{}, fmt.Errorf("config.%s.headers: %w", of.sort, err)
			}
			c.headers = append(c.headers, s)
		}
		for _, text := range of.all.Querystring {
			s, err := parseStep(of.sort, text)
			if err != nil {
				return gateway.Plugin{}, fmt.Errorf("config.%s.querystring: %w", of.sort, err)
			}
			c.query = append(c.query, s)
		}
	}
	return gateway.Plugin{Access: c.access}, nil
}

// parseStep reads "name" or "name:value". Errors do not show values: they may be
// secrets.
func parseStep(sort, text string) (step, error) {
	name, value, found := strings.Cut(text, ":")
	s := step{sort: sort, name: name, value: value}
	switch {
	case name == "" || found == (sort == "remove"):
		return s, fmt.Errorf("%q: expected %s", name, map[bool]string{true: "a name", false: "name:value"}[sort == "remove"])
	case sort == "rename" && value == "":
		return s, fmt.Errorf("%q: the new name is empty", name)
	case strings.Contains(value, "$("):
		return s, fmt.Errorf("%q: templates are not supported", name)
	}
	return s, nil
}

// headerStep is parseStep for names and values of header fields.
func headerStep(sort, text string) (step, error) {
	s, err := parseStep(sort, text)
	if err != nil {
		return s, err
	}
	names := []string{s.name}
	if sort == "rename" {
		names = append(names, s.value)
	}
	for _, name := range names {
		if strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || (!alphanumeric(byte(r)) && r != '-' && r != '_') }) {
			return s, fmt.Errorf("%q has other characters than letters, digits, - and _", name)
		}
		switch http.CanonicalHeaderKey(name) {
		case "Connection", "Content-Length", "Host", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
			return s, fmt.Errorf("%q is for the gateway to set", name)
		}
	}
	if fieldValue(s.value) != s.value {
		return s, fmt.Errorf("%q: the value has control characters", s.name)
	}
	s.name = http.CanonicalHeaderKey(s.name)
	if sort == "rename" {
		s.value = http.CanonicalHeaderKey(s.value)
	}
	return s, nil
}

func (c *transformer) access(x *gateway.Exchange) *gateway.Answer {
	up := x.Upstream()
	for _, s := range c.headers {
		s.header(up.Header)
	}
	if len(c.query) > 0 {
		up.Query = changeQuery(up.Query, c.query)
	}
	switch {
	case len(c.uri) > 0:
		var path strings.Builder
		for _, p := range c.uri {
			path.WriteString(p.text)
			if p.group != "" {
				path.WriteString(x.Capture(p.group))
			}
		}
		if !up.SetPath(path.String()) {
			return gateway.Refuse(http.StatusBadRequest, "Bad request")
		}
	case c.Replace.URI != "":
		up.Path = (&url.URL{Path: c.Replace.URI}).EscapedPath()
	}
	if c.Method != "" {
		up.Method = c.Method
	}
	return nil
}

// piece is a part of a template: a text, and the group of the route's expression after
// it, if there is one.
type piece struct{ text, group string }

// capture is the template of a group of the route's expression.
var capture = regexp.MustCompile(`\$\(\s*uri_captures(?:\.([A-Za-z_][A-Za-z0-9_]*)|\[\s*(?:'([^'\\]+)'|"([^"\\]+)")\s*\])\s*\)`)

// parseURI checks the path that replaces another, and takes its templates apart.
func (c *transformer) parseURI() error {
	uri, end := c.Replace.URI, 0
	var plain strings.Builder
	for _, at := range capture.FindAllStringSubmatchIndex(uri, -1) {
		p := piece{text: uri[end:at[0]]}
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				p.group = uri[at[group]:at[group+1]]
			}
		}
		c.uri, end = append(c.uri, p), at[1]
		plain.WriteString(p.text + "x") // any text in the place of the group
	}
	if len(c.uri) == 0 {
		if !unambiguous(uri) {
			return fmt.Errorf("%q is not a plain path", uri)
		}
		return nil
	}
	c.uri = append(c.uri, piece{text: uri[end:]})
	plain.WriteString(uri[end:])
	if text := plain.String(); strings.Contains(text, "$(") || !isEscaped("/"+strings.TrimPrefix(text, "/")) {
		return fmt.Errorf("%q is not a path with $(uri_captures['name']) in it", uri)
	}
	return nil
}

// isEscaped reports whether text is an escaped path, as that of a service is, without
// empty and dot segments.
func isEscaped(text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`\?#`, r) }) {
		return false
	}
	_, err := url.PathUnescape(text)
	return err == nil && new(gateway.Upstream).SetPath(text)
}

func (s *step) header(header http.Header) {
	old, found := header[s.name]
	switch s.sort {
	case "remove":
		delete(header, s.name)
	case "rename":
		if found {
			delete(header, s.name)
			header[s.value] = old
		}
	case "replace":
		if found {
			header[s.name] = []string{s.value}
		}
	case "add":
		if !found {
			header[s.name] = []string{s.value}
		}
	case "append":
		header[s.name] = append(old[:len(old):len(old)], s.value) // the slice is the client's
	}
}

// pair is a parameter of a query: its name, and how it is written.
type pair struct{ name, written string }

// changeQuery leaves what it does not change in its order, and as it was written.
func changeQuery(query string, steps []step) string {
	var pairs []pair
	for written := range strings.SplitSeq(query, "&") {
		if written == "" {
			continue
		}
		name, _, _ := strings.Cut(written, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		pairs = append(pairs, pair{name, written})
	}
	for i := range steps {
		pairs = steps[i].parameter(pairs)
	}
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(p.written)
	}
	return b.String()
}

func (s *step) parameter(pairs []pair) []pair {
	made := pair{s.name, url.QueryEscape(s.name) + "=" + url.QueryEscape(s.value)}
	kept := pairs[:0]
	found := false
	for _, p := range pairs {
		if p.name != s.name {
			kept = append(kept, p)
			continue
		}
		switch s.sort {
		case "remove":
			continue
		case "rename":
			_, value, equals := strings.Cut(p.written, "=")
			p = pair{s.value, url.QueryEscape(s.value)}
			if equals {
				p.written += "=" + value
			}
		case "replace":
			if found {
				continue
			}
			p = made
		}
		found = true
		kept = append(kept, p)
	}
	if s.sort == "append" || (s.sort == "add" && !found) {
		kept = append(kept, made)
	}
	return kept
}
