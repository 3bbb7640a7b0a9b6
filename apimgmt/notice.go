package apimgmt

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// The plugins that can announce the end of an API: that of the embedded gateway, and
// Kong's plugin for any header field.
const (
	deprecationKind = "deprecation"
	transformerKind = "response-transformer"
)

// httpDate is how a Sunset field has its time (RFC 9110 section 5.6.7).
const httpDate = "Mon, 02 Jan 2006 15:04:05 GMT"

// notice are the plugins that announce the end of a version, one for each service.
// kinds are those of the gateway; nil means any.
func (e *edition) notice(c entity.Config, kinds []string) ([]entity.Plugin, error) {
	var kind string
	var settings any
	switch {
	case kinds == nil || slices.Contains(kinds, deprecationKind):
		kind, settings = deprecationKind, e.deprecation()
	case slices.Contains(kinds, transformerKind):
		kind, settings = transformerKind, map[string]any{"add": map[string]any{"headers": e.fields()}}
	default:
		return nil, fmt.Errorf("%w: the gateway has neither of the plugins %s and %s, which say that version %q is deprecated",
			entity.ErrInvalid, deprecationKind, transformerKind, e.Version)
	}
	config, err := json.Marshal(settings)
	if err != nil {
		return nil, err
	}
	var plugins []entity.Plugin
	for _, service := range c.Services {
		plugins = append(plugins, entity.Plugin{Name: kind, Config: config, Service: &entity.Ref{ID: service.ID}})
	}
	return plugins, nil
}

// deprecation is the configuration of the embedded gateway's plugin.
func (e *edition) deprecation() map[string]string {
	config := map[string]string{"at": e.since().Format(time.RFC3339)}
	if e.Sunset != nil {
		config["sunset"] = e.Sunset.UTC().Format(time.RFC3339)
	}
	if e.Link != "" {
		config["link"] = e.Link
	}
	return config
}

// fields are the header fields of RFC 9745 and RFC 8594 as Kong's plugin has them.
func (e *edition) fields() []string {
	fields := []string{fmt.Sprintf("Deprecation:@%d", e.since().Unix())}
	if e.Sunset != nil {
		fields = append(fields, "Sunset:"+e.Sunset.UTC().Format(httpDate))
	}
	if e.Link != "" {
		fields = append(fields, "Link:<"+e.Link+`>; rel="deprecation"`)
	}
	return fields
}

func (e *edition) since() time.Time {
	if e.Deprecated == nil {
		return e.Updated.UTC()
	}
	return e.Deprecated.UTC()
}
