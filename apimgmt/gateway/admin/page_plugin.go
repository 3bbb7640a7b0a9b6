package admin

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/shell"
)

// kindsView is the page that offers the kinds of plugins.
type kindsView struct {
	frame
	Kinds []kindView
}

type kindView struct{ Name, Summary, Href string }

// chooseKind shows the kinds of plugins.
func (p *pages) chooseKind(w http.ResponseWriter, r *http.Request) error {
	passed := url.Values{} // on to the form: what the plugin is for
	for _, kind := range []entity.Kind{entity.KindService, entity.KindRoute, entity.KindConsumer} {
		if id := r.URL.Query().Get(string(kind)); id != "" {
			passed.Set(string(kind), id)
		}
	}
	v := kindsView{frame: p.frame(r, "New plugin", "plugins", gatewayCrumb(), shell.Crumb{Name: "Plugins", Href: "plugins"})}
	for _, name := range p.store.gateway.Kinds() {
		kind, _ := p.store.gateway.Kind(name)
		if passed.Has(string(entity.KindConsumer)) && kind.NoConsumer {
			continue
		}
		passed.Set("kind", name)
		v.Kinds = append(v.Kinds, kindView{name, kind.Summary, "plugins/new?" + passed.Encode()})
	}
	return p.part.Show(w, r, http.StatusOK, "kinds.html", &v)
}

// pluginInputs are the fields of the form of a plugin, with those of its kind.
func (p *pages) pluginInputs(e *entity.Plugin, config *entity.Config, enabled, tags form.Field) form.Fields {
	kind, _ := p.store.gateway.Kind(e.Name)
	made := form.Fields{
		reference(config, entity.KindService, "On service", "Every service"),
		reference(config, entity.KindRoute, "On route", "Every route"),
	}
	if !kind.NoConsumer {
		made = append(made, reference(config, entity.KindConsumer, "For consumer", "Every consumer"))
	}
	made = append(made, enabled)
	fields := schemaInputs("config.", kindFields(kind))
	if len(fields) > 0 {
		made = append(made, form.Field{Name: "config", Label: "Configuration", Kind: form.Group, Fields: fields})
	}
	return append(made, append(more(
		form.Field{Name: "instance_name", Label: "Instance name", Hint: "Tells plugins of one kind apart"},
		form.Field{Name: "protocols", Label: "Protocols", Kind: form.Lines, Hint: "http, https, grpc, grpcs; one in a line"}), tags)...)
}

// asJSON returns the fields with one for the whole configuration of a plugin.
func asJSON(inputs form.Fields) form.Fields {
	for i := range inputs {
		if inputs[i].Name == "config" {
			inputs[i].Kind, inputs[i].Fields = form.JSON, nil
			inputs[i].Hint = "A JSON object. Secrets are shown as " + entity.Redaction + "; left so, they stay as they are"
			return inputs
		}
	}
	return append(inputs, form.Field{Name: "config", Label: "Configuration", Kind: form.JSON, Hint: "A JSON object"})
}

// isWhole reports whether a configuration is the whole form of an extension, which has the
// fields one level deeper. Only JSON shows that.
func isWhole(config json.RawMessage) bool {
	_, whole := shownConfig(config)["config"]
	return whole
}

// keepSecrets puts the stored secrets of a plugin into the configuration that a form has sent.
func keepSecrets(plugin *entity.Plugin, before json.RawMessage) error {
	var object map[string]json.RawMessage
	if len(plugin.Config) > 0 && json.Unmarshal(plugin.Config, &object) != nil {
		return schemaViolation("config", "is not a JSON object")
	}
	kept, err := entity.KeepSecrets(plugin.Config, before)
	if err != nil {
		return schemaViolation("config", strings.TrimPrefix(err.Error(), "keep secrets: "))
	}
	plugin.Config = kept
	return nil
}
