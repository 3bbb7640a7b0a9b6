package kong

import (
	"encoding/json"
	"fmt"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// fields are those of an entity, as they go over the wire.
type fields map[string]any

func (f fields) text(name string) string {
	text, _ := f[name].(string)
	return text
}

// ref is the id of what a field refers to.
func (f fields) ref(name string) string {
	switch ref := f[name].(type) {
	case map[string]any:
		id, _ := ref["id"].(string)
		return id
	case string: // as in declarative configurations
		return ref
	}
	return ""
}

func (f fields) texts(name string) []string {
	list, _ := f[name].([]any)
	var made []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			made = append(made, text)
		}
	}
	return made
}

// encode writes an entity for a Kong.
func (n node) encode(kind entity.Kind, value any) (fields, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	var f fields
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, err
	}
	delete(f, "created_at")
	delete(f, "updated_at")
	switch kind {
	case entity.KindService:
		if f.text("protocol") != "https" { // the field is refused then
			delete(f, "tls_verify")
		}
	case entity.KindRoute:
		n.eachPath(f, oldPath)
	case entity.KindPlugin:
		if !n.instances() {
			delete(f, "instance_name")
		}
	}
	return f, nil
}

// decode reads an entity that a Kong wrote. Fields that [entity.Config] has not
// are left out.
func (n node) decode(kind entity.Kind, raw fields) (fields, error) {
	f := make(fields, len(raw))
	for name, value := range raw {
		if value == nil {
			continue
		}
		f[name] = value
	}
	for _, name := range []string{"created_at", "updated_at"} {
		if at, ok := f[name].(float64); ok { // targets have fractions
			f[name] = int64(at)
		}
	}
	switch kind {
	case entity.KindService:
		if _, set := f["tls_verify"]; !set && f.text("protocol") == "https" {
			f["tls_verify"] = false // nginx's own default
		}
	case entity.KindRoute:
		n.eachPath(f, newPath)
	case entity.KindUpstream:
		if idle(f["healthchecks"]) {
			delete(f, "healthchecks")
		}
	}
	if f.text("id") == "" {
		return nil, fmt.Errorf("%w: a %s without an id", ErrAnswer, kind)
	}
	return f, nil
}

// idle reports whether targets are not watched: Kong writes all fields of the checks of
// every upstream, and their intervals and counts are zero then.
func idle(checks any) bool {
	whole, _ := checks.(map[string]any)
	if threshold, _ := whole["threshold"].(float64); threshold != 0 {
		return false
	}
	for _, side := range []string{"active", "passive"} {
		check, _ := whole[side].(map[string]any)
		for _, state := range []string{"healthy", "unhealthy"} {
			verdict, _ := check[state].(map[string]any)
			for _, name := range []string{"interval", "successes", "http_failures", "tcp_failures", "timeouts"} {
				if n, _ := verdict[name].(float64); n != 0 {
					return false
				}
			}
		}
	}
	return true
}

// eachPath rewrites the paths of a route for a Kong 2.
func (n node) eachPath(f fields, rewrite func(string) string) {
	if !n.old() {
		return
	}
	paths := f.texts("paths")
	made := make([]any, len(paths))
	for i, path := range paths {
		made[i] = rewrite(path)
	}
	if len(made) > 0 {
		f["paths"] = made
	}
}

// add puts an entity into a configuration.
func add(config *entity.Config, kind entity.Kind, f fields) error {
	data, err := json.Marshal(f)
	if err != nil {
		return err
	}
	switch kind {
	case entity.KindService:
		return appendJSON(&config.Services, data)
	case entity.KindUpstream:
		return appendJSON(&config.Upstreams, data)
	case entity.KindTarget:
		return appendJSON(&config.Targets, data)
	case entity.KindConsumer:
		return appendJSON(&config.Consumers, data)
	case entity.KindRoute:
		return appendJSON(&config.Routes, data)
	case entity.KindPlugin:
		return appendJSON(&config.Plugins, data)
	case entity.KindKey:
		return appendJSON(&config.Keys, data)
	}
	return fmt.Errorf("there are no entities of the kind %q", kind)
}

func appendJSON[E any](list *[]E, data []byte) error {
	var e E
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	*list = append(*list, e)
	return nil
}

// each calls visit with the entities of a configuration.
func each(config entity.Config, visit func(kind entity.Kind, id string, value any) error) error {
	for _, e := range config.Services {
		if err := visit(entity.KindService, e.ID, e); err != nil {
			return err
		}
	}
	for _, e := range config.Upstreams {
		if err := visit(entity.KindUpstream, e.ID, e); err != nil {
			return err
		}
	}
	for _, e := range config.Targets {
		if err := visit(entity.KindTarget, e.ID, e); err != nil {
			return err
		}
	}
	for _, e := range config.Consumers {
		if err := visit(entity.KindConsumer, e.ID, e); err != nil {
			return err
		}
	}
	for _, e := range config.Routes {
		if err := visit(entity.KindRoute, e.ID, e); err != nil {
			return err
		}
	}
	for _, e := range config.Plugins {
		if err := visit(entity.KindPlugin, e.ID, e); err != nil {
			return err
		}
	}
	for _, e := range config.Keys {
		if err := visit(entity.KindKey, e.ID, e); err != nil {
			return err
		}
	}
	return nil
}
