package manager

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/rml/suggest"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// maxForm is the largest form of a channel in bytes; a mapping is most of it.
const maxForm = 8 << 20

// newView is the page on which a channel is made.
type newView struct {
	shell.Frame
	Form    url.Values
	Kinds   []kindView
	Inputs  []annotate.InputFormat
	Outputs []annotate.OutputFormat
	Stored  map[string]annotate.Mapping
	Fault   string
	At      string // the field that Fault is about, by its name
}

// Value returns a field of the form.
func (v *newView) Value(name string) string { return v.Form.Get(name) }

// kindView is a kind of broker with the members of its settings.
type kindView struct {
	Type   annotate.BrokerType
	Title  string
	Fields []fieldView
}

// fieldView is a member of the settings of a kind of broker.
type fieldView struct {
	Name, Default string
	IsSecret      bool
}

// kinds returns the kinds of broker with their fields: the members that the defaults have,
// and the secret ones.
func (p *pages) kinds() []kindView {
	var views []kindView
	for _, d := range p.manager.config.Drivers {
		view := kindView{Type: d.Type, Title: cmp.Or(d.Title, string(d.Type))}
		settings := d.Settings.Default(annotate.InputTopic)
		var defaults map[string]any
		if text, err := json.Marshal(settings); err == nil {
			_ = json.Unmarshal(text, &defaults) // it was just made
		}
		var secrets []string
		for _, secret := range settings.Secrets() {
			secrets = append(secrets, secret.Member)
		}
		for _, name := range []string{"host", "port", "protocol"} { // first what people look for
			if value, ok := defaults[name]; ok {
				view.Fields = append(view.Fields, fieldView{Name: name, Default: fmt.Sprint(value)})
			}
		}
		for _, name := range secrets {
			view.Fields = append(view.Fields, fieldView{Name: name, IsSecret: true})
		}
		views = append(views, view)
	}
	return views
}

func (p *pages) newView(r *http.Request) *newView {
	v := &newView{Frame: p.part.Frame(r, "New channel", shell.Crumb{Name: "New channel", Href: "new"}),
		Form: url.Values{}, Kinds: p.kinds(), Inputs: annotate.InputFormats(), Outputs: annotate.OutputFormats()}
	stored, err := p.manager.Annotations().List(r.Context())
	if err == nil {
		v.Stored = stored
	}
	return v
}

func (p *pages) new(w http.ResponseWriter, r *http.Request) error {
	v := p.newView(r)
	v.Form = r.URL.Query() // what another page suggests
	return p.part.Show(w, r, http.StatusOK, "new.html", v)
}

// create makes a channel of the form, or shows it again: with a mapping that is suggested for
// its sample, with what comes from the workbench, or with what is wrong.
func (p *pages) create(w http.ResponseWriter, r *http.Request) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: "The form cannot be read.", Err: err}
	}
	v := p.newView(r)
	v.Form = r.PostForm
	switch v.Form.Get("action") {
	case "suggest":
		s, err := suggest.Mapping([]byte(v.Form.Get("sample")), nil)
		if err != nil {
			v.Fault, v.At = sentence(err), "sample"
			return p.part.Show(w, r, http.StatusUnprocessableEntity, "new.html", v)
		}
		v.Form.Set("rml", s.Mapping)
		v.Form.Set("inputFormat", string(s.Format))
		return p.part.Show(w, r, http.StatusOK, "new.html", v)
	case "create":
	default: // from the workbench, with a message and a mapping
		v.Form.Set("sample", v.Form.Get("message"))
		return p.part.Show(w, r, http.StatusOK, "new.html", v)
	}
	config, err := p.read(v)
	if err == nil {
		var id string
		if id, err = p.manager.Create(r.Context(), config); err == nil {
			return shell.SeeOther(w, "channels/"+url.PathEscape(id), "The channel is made.")
		}
	}
	e := &httpapi.Error{}
	if known := channelError(err, config.ID); !errors.As(known, &e) || e.Status >= 500 {
		return known
	}
	v.Fault, v.At = sentence(err), fieldOf(err)
	return p.part.Show(w, r, http.StatusUnprocessableEntity, "new.html", v)
}

// topicFields are the topics of the form: their names in it, and in the REST interface.
var topicFields = [][2]string{
	{"input", "inputTopicSettings"}, {"output", "outputTopicSettings"}, {"error", "errorTopicSettings"},
}

// read returns the channel of a form. It goes through the form of the REST interface, so that
// both say the same of a fault.
func (p *pages) read(v *newView) (ChannelConfig, error) {
	settings := map[string]any{"channelId": strings.TrimSpace(v.Form.Get("id"))}
	for _, t := range topicFields {
		name, member := t[0], t[1]
		topic := strings.TrimSpace(v.Form.Get(name + "Topic"))
		if topic == "" && name == "error" {
			continue
		}
		of := cmp.Or(v.Form.Get(name+"Broker"), v.Form.Get("inputBroker"))
		object := map[string]any{"topic": topic, "brokerType": of}
		for _, d := range p.manager.config.Drivers {
			if connection := p.connection(v, name, of); string(d.Type) == of && connection != nil {
				object[d.Member] = connection
			}
		}
		settings[member] = object
	}
	data, err := json.Marshal(map[string]any{
		"settings": settings,
		"metadata": map[string]any{"name": v.Form.Get("name"), "description": v.Form.Get("description"),
			"mapping": map[string]any{"name": v.Form.Get("mappingName"), "inputFormat": v.Form.Get("inputFormat"),
				"outputFormat": v.Form.Get("outputFormat"), "rml": v.Form.Get("rml")}},
		"status": map[string]any{"isStopped": v.Form.Get("stopped") != ""},
	})
	if err != nil {
		return ChannelConfig{}, fmt.Errorf("read form: %w", err)
	}
	config, _, err := p.manager.records.forms.read(data)
	return config, err
}

// connection returns the settings of a topic's broker, nil if the form leaves them to the
// driver. Output and error topic share those of the input, unless the form has others.
func (p *pages) connection(v *newView, topic, of string) map[string]any {
	kinds := p.kinds()
	at := slices.IndexFunc(kinds, func(k kindView) bool { return string(k.Type) == of })
	if at < 0 {
		return nil
	}
	made, typed := map[string]any{}, false
	for _, field := range kinds[at].Fields {
		value := strings.TrimSpace(v.Form.Get(topic + "." + of + "." + field.Name))
		if value == "" && v.Form.Get("inputBroker") == of {
			value = strings.TrimSpace(v.Form.Get("input." + of + "." + field.Name))
		}
		typed = typed || value != ""
		if value = cmp.Or(value, field.Default); value == "" {
			continue
		}
		made[field.Name] = value
		if number, err := strconv.Atoi(value); err == nil && field.Name == "port" {
			made[field.Name] = number
		}
	}
	if !typed {
		return nil
	}
	return made
}

// fieldOf returns the name of the form's field that an error is about, empty if it is about
// none.
func fieldOf(err error) string {
	if errors.Is(err, annotate.ErrMapping) {
		return "rml"
	}
	if errors.Is(err, ErrChannelExists) {
		return "id"
	}
	var field *annotate.FieldError
	if !errors.As(err, &field) {
		return ""
	}
	for _, t := range topicFields {
		if rest, ok := strings.CutPrefix(field.Field, "settings."+t[1]); ok {
			if strings.HasSuffix(rest, ".topic") || rest == "" {
				return t[0] + "Topic"
			}
			return t[0] + "Broker"
		}
	}
	last := field.Field[strings.LastIndexByte(field.Field, '.')+1:]
	if last == "channelId" {
		return "id"
	}
	return last
}
