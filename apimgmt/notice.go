package apimgmt

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// The plugins that can announce the end of an API: the one that is made for it, which
// Kong does not have, and Kong's that sets any header field.
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
	var made []entity.Plugin
	for _, service := range c.Services {
		made = append(made, entity.Plugin{Name: kind, Config: config, Service: &entity.Ref{ID: service.ID}})
	}
	return made, nil
}

// deprecation is the configuration of the plugin that is made for it.
func (e *edition) deprecation() map[string]string {
	made := map[string]string{"at": e.since().Format(time.RFC3339)}
	if e.Sunset != nil {
		made["sunset"] = e.Sunset.UTC().Format(time.RFC3339)
	}
	if e.Link != "" {
		made["link"] = e.Link
	}
	return made
}

// fields are the header fields of RFC 9745 and RFC 8594 as Kong's plugin has them.
func (e *edition) fields() []string {
	made := []string{fmt.Sprintf("Deprecation:@%d", e.since().Unix())}
	if e.Sunset != nil {
		made = append(made, "Sunset:"+e.Sunset.UTC().Format(httpDate))
	}
	if e.Link != "" {
		made = append(made, "Link:<"+e.Link+`>; rel="deprecation"`)
	}
	return made
}

func (e *edition) since() time.Time {
	if e.Deprecated == nil {
		return e.Updated.UTC()
	}
	return e.Deprecated.UTC()
}
