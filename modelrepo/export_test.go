package modelrepo

import "github.com/iotenablers/enablers/internal/httpapi"

// RoutesAndDocument returns the route table and the OpenAPI document.
func RoutesAndDocument() ([]httpapi.Route, []byte) {
	r := newREST(nil, nil)
	return append(r.tree(), r.service()...), openapi
}

// ParseMetadata is parseMetadata.
func ParseMetadata(text string) (map[string]string, error) { return parseMetadata(text) }

// SetLongestPart makes pieces of uploads durable after that many bytes.
func SetLongestPart(s *Store, bytes int64) { s.longestPart = bytes }

// DecodeUpdate is decodeUpdate.
func DecodeUpdate(data []byte, field string) (value, fault string) { return decodeUpdate(data, field) }
