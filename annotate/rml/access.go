package rml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate/rml/internal/resultset"
)

// Access says how a source on the web is requested. It prints nothing of its
// headers, which may be confidential.
type Access struct {
	// Method is GET or POST. Empty means POST for an endpoint and GET otherwise.
	Method string
	// MediaType is the format that is asked for, such as application/json. Empty
	// means any.
	MediaType string
	// Headers are the header fields that the mapping gives, each as "Name: value"
	// and a line feed. Names and values are valid in HTTP.
	Headers string
	// Security is the kind of credential that the source expects.
	Security Security
}

// String returns the method and the media type.
func (a Access) String() string { return strings.TrimSpace(a.Method + " " + a.MediaType) }

// GoString is String for %#v.
func (a Access) GoString() string { return a.String() }

// Security is a security scheme of a Web of Things description (W3C Web of
// Things Thing Description 1.1, section 5.3.3). It has no credential. The zero
// value means that the mapping names none.
type Security struct {
	// Scheme is the kind of credential, or empty.
	Scheme SecurityScheme
	// In is "header" or "query", where an API key is sent.
	In string
	// Name is the name of the header field or of the parameter of the query that has
	// an API key.
	Name string
}

// SecurityScheme is a kind of credential.
type SecurityScheme string

// The kinds of credential.
const (
	NoSecurity     SecurityScheme = "nosec"  // no credential is sent
	BasicSecurity  SecurityScheme = "basic"  // user and password, RFC 7617
	BearerSecurity SecurityScheme = "bearer" // a token, RFC 6750
	KeySecurity    SecurityScheme = "apikey" // a key in a header field or in the query
)

// onTheWeb reports whether a source is requested over HTTP.
func (s Source) onTheWeb() bool {
	return s.Kind == SourceEndpoint || s.Kind == SourceThing || (s.Kind == SourceFile && isWeb(s.Name))
}

// passing reports whether a source can be read once only, or may have another
// content the second time.
func (s Source) passing() bool { return s.Kind != SourceFile || s.onTheWeb() }

// fetch requests a source on the web.
func (b *batch) fetch(ctx context.Context, source Source) (io.ReadCloser, error) {
	if b.files.Fetch == nil {
		return nil, errors.New("sources on the web are not fetched: Files.Fetch is nil (rml map: see -network)")
	}
	return b.files.Fetch(ctx, source)
}

// maxAskedBytes bounds a file of RDF that is asked in SPARQL, which is read into memory.
const maxAskedBytes = 256 << 20

// ask evaluates the query of a source over a file of RDF.
func (b *batch) ask(ctx context.Context, file io.Reader, source Source) (io.ReadCloser, error) {
	query, err := resultset.Parse(source.Query)
	if err != nil {
		return nil, err
	}
	format, err := rdfFormat(source.Name)
	if err != nil {
		return nil, err
	}
	return query.Evaluate(ctx, file, format, maxAskedBytes, source.Formulation == JSONPath)
}

// publicURL returns an address without its user, password, query and fragment, which
// may be confidential.
func publicURL(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "an address on the web"
	}
	return fmt.Sprintf("%s://%s%s", u.Scheme, u.Host, u.EscapedPath())
}
