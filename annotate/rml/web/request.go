package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// minSecret is the length from which on a value of a query is taken for confidential.
const minSecret = 4

// maxReason is how much of the answer of a refusal is in the error, in bytes.
const maxReason = 300

// request builds the request for a source.
func (c *Client) request(ctx context.Context, at *url.URL, origin string, s rml.Source) (*http.Request, error) {
	method, body := s.Access.Method, ""
	if method == "" {
		method = http.MethodGet
	}
	if s.Kind == rml.SourceEndpoint { // SPARQL 1.1 Protocol, section 2.1.2
		method, body = http.MethodPost, url.Values{"query": {s.Query}}.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, at.String(), strings.NewReader(body))
	if err != nil {
		return nil, errors.New("its address or method is invalid")
	}
	request.Header.Set("User-Agent", "enablers-rml")
	request.Header.Set("Accept", accept(s))
	if s.Kind == rml.SourceEndpoint {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for line := range strings.Lines(s.Access.Headers) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		request.Header.Set(name, value)
	}
	return request, authorize(request, s.Access.Security, c.credentials[origin], origin)
}

// accept returns the media types that are asked for.
func accept(s rml.Source) string {
	switch {
	case s.Access.MediaType != "":
		return s.Access.MediaType
	case s.Formulation == rml.JSONPath:
		return "application/json, */*;q=0.1"
	case s.Formulation == rml.XPath:
		return "application/xml, text/xml;q=0.9, */*;q=0.1"
	case s.Formulation == rml.CSV:
		return "text/csv, */*;q=0.1"
	}
	return "*/*"
}

// authorize adds the credential of the origin in the way that the mapping names.
func authorize(request *http.Request, security rml.Security, credential, origin string) error {
	user, password, pair := strings.Cut(credential, ":")
	scheme := security.Scheme
	switch {
	case scheme == rml.NoSecurity, scheme == "" && credential == "":
		return nil
	case credential == "":
		return fmt.Errorf("the mapping says that it needs a credential (%s), and none is given for %s (rml map: -credential)", scheme, origin)
	case scheme == "" && pair:
		scheme = rml.BasicSecurity
	case scheme == "":
		scheme = rml.BearerSecurity
	}
	switch scheme {
	case rml.BasicSecurity:
		if !pair {
			return fmt.Errorf("the credential for %s has no colon: expected USER:PASSWORD", origin)
		}
		request.SetBasicAuth(user, password)
	case rml.BearerSecurity:
		if err := httpclient.CheckToken(credential, request.URL); err != nil {
			return fmt.Errorf("the credential for %s: %w", origin, err)
		}
		httpclient.Authorize(request, credential)
	case rml.KeySecurity:
		if security.In == "header" {
			request.Header.Set(security.Name, credential)
			return nil
		}
		key := url.QueryEscape(security.Name) + "=" + url.QueryEscape(credential)
		request.URL.RawQuery = strings.TrimPrefix(request.URL.RawQuery+"&"+key, "&") // the rest as the mapping has it
	default:
		return fmt.Errorf("the security scheme %q is not known", scheme)
	}
	return nil
}

// refusal returns the error for an answer without content.
func (c *Client) refusal(response *http.Response, origin string, s rml.Source) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	reason := c.firstLine(string(text), origin, s)
	if reason != "" {
		reason = ": " + reason
	}
	hint := ""
	if httpclient.Denied(response.StatusCode) {
		hint = "; is the credential for " + origin + " right? (rml map: -credential)"
	}
	return fmt.Errorf("the server answered %d %s%s%s", response.StatusCode, http.StatusText(response.StatusCode), reason, hint)
}

// firstLine returns the first line of an answer that says something, without what is confidential.
func (c *Client) firstLine(text, origin string, s rml.Source) string {
	text = strings.ToValidUTF8(text, "")
	credential := c.credentials[origin]
	_, password, _ := strings.Cut(credential, ":")
	secrets := []string{credential, password}
	for line := range strings.Lines(s.Access.Headers) {
		_, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		secrets = append(secrets, value)
	}
	if at, err := url.Parse(s.Name); err == nil {
		secrets = append(secrets, at.RawQuery)
		for _, values := range at.Query() {
			secrets = append(secrets, slices.DeleteFunc(values, func(value string) bool { return len(value) < minSecret })...)
		}
	}
	secrets = append(secrets, base64.StdEncoding.EncodeToString([]byte(credential)))
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "(hidden)")
			text = strings.ReplaceAll(text, url.QueryEscape(secret), "(hidden)")
		}
	}
	for line := range strings.Lines(text) {
		line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }), " ")
		if len(line) > maxReason {
			line = strings.ToValidUTF8(line[:maxReason], "") + "…"
		}
		if line != "" {
			return line
		}
	}
	return ""
}

// checkType compares the media type of an answer with what was asked for: a page that reports an
// error, with the status 200, is not data.
func checkType(s rml.Source, contentType string) error {
	got, _, _ := mime.ParseMediaType(contentType)
	want, _, _ := mime.ParseMediaType(s.Access.MediaType)
	switch got {
	case "", "text/plain", "application/octet-stream", want:
		return nil
	}
	expected, found := family(want), family(got)
	if (found == expected && found != "") || (expected == "" && got != "text/html") || (s.Formulation == rml.XPath && want == "") {
		return nil
	}
	if want == "" {
		want = "data"
	}
	return fmt.Errorf("the answer is %s: expected %s", got, want)
}

// family returns what a media type is a kind of, or "".
func family(mediaType string) string {
	switch {
	case strings.HasSuffix(mediaType, "json") || mediaType == "application/javascript":
		return "json"
	case strings.HasSuffix(mediaType, "xml"):
		return "xml"
	case mediaType == "text/csv" || mediaType == "application/csv":
		return "csv"
	case mediaType == "text/tab-separated-values":
		return "tsv"
	}
	return ""
}
