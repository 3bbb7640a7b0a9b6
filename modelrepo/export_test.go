package modelrepo

import (
	"io"
	"net/url"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument() ([]httpapi.Route, []byte) {
	r := newREST(nil, nil)
	return append(r.tree(), r.service()...), openapi
}

// ParseMetadata is parseMetadata.
func ParseMetadata(text string) (map[string]string, error) { return parseMetadata(text) }

// SetLongestPart makes pieces of uploads durable after that many bytes.
func SetLongestPart(s *Store, bytes int64) { s.longestPart = bytes }

// Unpack reads a tar archive of documentation.
func Unpack(from io.Reader, compressed bool) (map[string][]byte, error) {
	s := sources{files: map[string][]byte{}}
	err := s.unpack(from, compressed)
	return s.files, err
}

// RenderMarkdown renders one file.
func RenderMarkdown(plugin string, source []byte) (title, html string, err error) {
	title, body, err := newRenderer(plugin).render(source)
	return title, string(body), err
}

// DecodeUpdate is decodeUpdate for a body with one text. What was read means
// nothing if there is a fault.
func DecodeUpdate(data []byte, field string) (value, fault string) {
	if fault = decodeUpdate(data, fields{field: textField(field, &value)}); fault != "" {
		return "", fault
	}
	return value, ""
}

// DecodeModelUpdate is decodeUpdate and check for a model that is to change.
func DecodeModelUpdate(data []byte) (u ModelUpdate, fault string, err error) {
	fault = decodeUpdate(data, u.fields())
	return u, fault, u.check("update model", Path{Namespace: "w3c", Model: "sosa"}, false)
}

// DecodeListing is parseListing and normal for a list of models.
func DecodeListing(query url.Values) (*Listing, error) {
	l, err := parseListing(query)
	if err != nil || l == nil {
		return nil, err
	}
	normal, err := l.normal("get namespace", Path{Namespace: "w3c"}, "model")
	return &normal, err
}

// DecodeWebhook is decodeWebhook.
func DecodeWebhook(data []byte) (WebhookRequest, error) { return decodeWebhook(data) }

// RequirePublic is requirePublic.
func RequirePublic(address string) error { return requirePublic(address) }
