package kong

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"sync"
)

// schemas has the defaults of plugins, which Kong adds to a configuration. It
// is safe for concurrent use.
type schemas struct {
	client *client

	mu    sync.Mutex
	known map[string]*field
}

func newSchemas(c *client) *schemas { return &schemas{client: c, known: map[string]*field{}} }

// field is one of a schema of Kong.
type field struct {
	Type    string             `json:"type"`
	Default any                `json:"default"`
	Fields  []map[string]field `json:"fields"`
}

// of returns the schema of a plugin's configuration, nil if Kong has none.
func (s *schemas) of(ctx context.Context, plugin string) (*field, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.known[plugin]; ok {
		return known, nil
	}
	var schema field
	err := s.client.make(ctx, call{do: "ask for the schema of plugin \"" + plugin + "\"", method: http.MethodGet,
		path: "/schemas/plugins/" + url.PathEscape(plugin), answer: &schema})
	if isStatus(err, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented) {
		return nil, nil // not kept: the plugin may be installed later
	}
	if err != nil {
		return nil, err
	}
	var config *field
	for _, named := range schema.Fields {
		if f, ok := named["config"]; ok {
			config = &f
		}
	}
	s.known[plugin] = config
	return config, nil
}

// bare takes off a plugin's configuration what is null and what has its default.
func (s *schemas) bare(ctx context.Context, plugin string, config map[string]any) (map[string]any, error) {
	schema, err := s.of(ctx, plugin)
	if err != nil {
		return nil, err
	}
	return schema.bare(config), nil
}

func (f *field) bare(record map[string]any) map[string]any {
	made := make(map[string]any, len(record))
	for name, value := range record {
		if value == nil {
			continue
		}
		of := f.member(name)
		if of != nil && sameValue(value, of.Default) {
			continue
		}
		if nested, ok := value.(map[string]any); ok && of != nil && of.Type == "record" {
			inner := of.bare(nested)
			if len(inner) == 0 {
				continue
			}
			value = inner
		}
		made[name] = value
	}
	return made
}

// member is the field of a name, nil if none exists.
func (f *field) member(name string) *field {
	if f == nil {
		return nil
	}
	for _, named := range f.Fields {
		if of, ok := named[name]; ok {
			return &of
		}
	}
	return nil
}

// sameValue reports whether two values are the same, an empty object and an empty list
// included, which Kong does not distinguish.
func sameValue(a, b any) bool {
	return reflect.DeepEqual(a, b) || (empty(a) && empty(b))
}

func empty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}
