package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/form"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// formView is the page on which a channel is created or changed.
type formView struct {
	shell.Frame
	form.Fields
	Stored bool
	Fault  string
	Tried  []triedView

	// ID and Name are those of the channel that is changed, and Base is its state when
	// the form was first shown; empty for a new channel.
	ID, Name, Base string
	// MappingName is the name of the mapping of a new channel.
	MappingName string

	drivers []annotate.Driver
	channel *manager.Channel // that is changed
	body    map[string]any   // of the channel, see bodyOf
}

// topicNames are the topics of the form, input first, with their roles.
func topicNames() []string {
	return []string{"input", "output", "error", "monitorInput", "monitorOutput"}
}

var topicRoles = map[string]annotate.TopicRole{
	"input": annotate.InputTopic, "output": annotate.OutputTopic, "error": annotate.ErrorTopic,
	"monitorInput": annotate.MonitorInputTopic, "monitorOutput": annotate.MonitorOutputTopic,
}

// newForm returns the form of a new channel, or that of a channel that is changed.
func (p *pages) newForm(r *http.Request, channel *manager.Channel) (*formView, error) {
	v := &formView{drivers: p.env.Drivers, channel: channel}
	v.Fields = v.describe()
	if channel == nil {
		v.Frame = p.part.Frame(r, "New channel", shell.Crumb{Name: "New channel", Href: "new"})
		return v, nil
	}
	v.ID, v.Name = channel.ID, cmp.Or(channel.Metadata.Name, channel.ID)
	v.Base = p.fingerprint(channel.ChannelConfig)
	v.Frame = p.part.Frame(r, "Edit "+v.Name, shell.Crumb{Name: v.Name, Href: channelHref(channel.ID)},
		shell.Crumb{Name: "Edit", Href: channelHref(channel.ID) + "/edit"})
	var err error
	if v.body, err = p.bodyOf(channel.ChannelConfig); err != nil {
		return nil, err
	}
	v.Show(v.body)
	for _, topic := range channel.Topics() {
		if topic.Role != annotate.InputTopic && sharesConnection(p.env.Drivers, *channel, topic) {
			v.Find(nameOf(topic.Role) + "Broker").Value = ""
		}
	}
	return v, nil
}

// bodyOf returns a channel as the REST interface shows it. Monitoring topics have the names that errors use.
func (p *pages) bodyOf(c manager.ChannelConfig) (body map[string]any, err error) {
	channel := c.Form()
	text, err := json.Marshal(channelform.Form{Settings: p.forms.Settings(channel), Metadata: channel.Metadata(true)})
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	settings := form.Object(body, "settings")
	for _, role := range []annotate.TopicRole{annotate.MonitorInputTopic, annotate.MonitorOutputTopic} {
		shown := strings.Replace(role.String(), "monitor", "monitoring", 1)
		if topic, ok := settings[shown]; ok {
			settings[role.String()] = topic
			delete(settings, shown)
		}
	}
	return body, nil
}

// sentForm returns the form with what the browser has sent.
func (p *pages) sentForm(w http.ResponseWriter, r *http.Request, channel *manager.Channel) (*formView, error) {
	if err := httpapi.ReadForm(w, r, maxForm); err != nil {
		return nil, err
	}
	v, err := p.newForm(r, channel)
	if err != nil {
		return nil, err
	}
	v.Fill(r.PostForm)
	v.Base, v.MappingName = cmp.Or(r.PostForm.Get("base"), v.Base), r.PostForm.Get("mappingName")
	return v, nil
}

// show answers with the form.
func (p *pages) showForm(w http.ResponseWriter, r *http.Request, status int, v *formView) error {
	v.Forget()
	stored, _, err := p.manager.Annotations().Page(r.Context(), "", 1)
	v.Stored = err == nil && len(stored) > 0
	return p.part.Show(w, r, status, "form.html", v)
}

// More returns the names of the fields of rare settings.
func (v *formView) More() []string {
	return []string{"author", "tags", "parallelism", "bufferSize", "monitorInputTopic", "monitorOutputTopic", "dialect", "errorFormat"}
}

// OpensMore reports whether rare settings matter now.
func (v *formView) OpensMore() bool {
	return v.Get("monitorInputTopic") != "" || v.Get("monitorOutputTopic") != "" ||
		slices.ContainsFunc(append(v.More(), "exactlyOnce", "distributed"), func(name string) bool { return v.Find(name).Fault != "" })
}

// formTopic is a topic of the form: the kind of its broker, and the settings of each kind.
type formTopic struct {
	Name, Title string
	Broker      *form.Field
	Kinds       form.Fields
}

// Topic returns a topic of the form.
func (v *formView) Topic(name string) formTopic {
	return formTopic{Name: name, Title: roleText(topicRoles[name]), Broker: v.Find(name + "Broker"), Kinds: v.Group(name)}
}

// titled returns the name of a member as the title of a field.
func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func fieldName(topic string, d annotate.Driver, member string) string {
	return topic + "." + string(d.Type) + "." + member
}

// had returns the settings that the changed channel has for a kind of broker; nil if it has none.
func (v *formView) had(role annotate.TopicRole, kind annotate.BrokerType) annotate.Settings {
	if v.channel == nil {
		return nil
	}
	form := v.channel.Form()
	for _, t := range form.Topics() {
		if t.Role == role {
			return form.SettingsOf(t, kind)
		}
	}
	return nil
}

// fieldsOf returns the members of the settings of a driver that people set.
func fieldsOf(d annotate.Driver, role annotate.TopicRole) []annotate.Field {
	if form, ok := d.Settings.(annotate.FormDriver); ok {
		return form.Fields(role)
	}
	var fields []annotate.Field
	defaults := membersOf(d.Settings.Default(role))
	for _, name := range []string{"protocol", "host", "port"} {
		if value, ok := defaults[name]; ok {
			_, isNumber := value.(float64)
			fields = append(fields, annotate.Field{Member: name, Title: titled(name), IsNumber: isNumber})
		}
	}
	return fields
}

// membersOf returns the members of settings, without secrets.
func membersOf(s annotate.Settings) map[string]any {
	members := map[string]any{}
	text, err := json.Marshal(s)
	if err != nil {
		return members
	}
	_ = json.Unmarshal(text, &members) // it was just made
	for _, secret := range s.Secrets() {
		delete(members, secret.Member)
	}
	return members
}

// read returns the channel of a form. It goes through the form of the REST interface, so that
// both say the same of a fault.
func (p *pages) read(v *formView) (manager.ChannelConfig, error) {
	body := map[string]any{}
	if v.channel != nil {
		body["metadata"] = v.body["metadata"]
	}
	v.Group("channel").Put(body)
	settings, mapping := form.Object(body, "settings"), form.Object(form.Object(body, "metadata"), "mapping")
	settings["channelId"] = cmp.Or(v.ID, v.Get("id"))
	if v.channel != nil && v.channel.Distributed {
		settings["distributed"] = true
	}
	mapping["rml"] = v.Find("rml").Value // with the lines that errors count
	if v.MappingName != "" {
		mapping["name"] = v.MappingName
	}
	if mapping["language"] == string(annotate.LanguageRML) {
		delete(mapping, "language") // which is the default
	}
	var input map[string]any
	for _, name := range topicNames() {
		topic := v.Get(name + "Topic")
		if topic == "" && name != "input" && name != "output" {
			continue
		}
		shared := name != "input" && v.Get(name+"Broker") == ""
		kind := v.Get(name + "Broker")
		if shared {
			kind = v.Get("inputBroker")
		}
		object := map[string]any{"topic": topic, "brokerType": kind}
		if at := v.driver(kind); at >= 0 {
			connection := v.connection(name, v.drivers[at], shared, input)
			object[v.drivers[at].Member] = connection
			if name == "input" {
				input = connection
			}
		}
		settings[topicRoles[name].String()] = object
	}
	data, err := json.Marshal(body)
	if err != nil {
		return manager.ChannelConfig{}, fmt.Errorf("read form: %w", err)
	}
	return p.manager.ReadChannel(data)
}

// driver returns the index of the driver of a kind of broker, below zero if there is none.
func (v *formView) driver(kind string) int {
	return slices.IndexFunc(v.drivers, func(d annotate.Driver) bool { return string(d.Type) == kind })
}

// connection returns the settings of a topic's broker as JSON members. One that is shared has
// those of the input, apart from what each connection has of its own. Secrets that are
// not typed stay as they are.
func (v *formView) connection(topic string, d annotate.Driver, shared bool, input map[string]any) map[string]any {
	role := topicRoles[topic]
	had, made := v.had(role, d.Type), map[string]any{}
	if had != nil {
		made = membersOf(had)
	}
	defaults := membersOf(d.Settings.Default(role))
	for _, f := range fieldsOf(d, role) {
		value := v.Get(fieldName(topic, d, f.Member))
		switch {
		case shared && f.IsOwn:
		case shared && input[f.Member] != nil:
			made[f.Member] = input[f.Member]
		case shared:
			delete(made, f.Member) // no other than the input's, whose secrets go along
		case value == "" && (f.IsOwn || defaults[f.Member] == nil):
			delete(made, f.Member)
		case value == "":
			made[f.Member] = defaults[f.Member]
		case f.IsNumber:
			made[f.Member] = numberOrText(value)
		default:
			made[f.Member] = value
		}
	}
	if topic == "input" {
		v.dropOldName(made, d, had)
	}
	maps.Copy(made, v.secrets(topic, d, shared, had))
	return made
}

// dropOldName removes the name of the subscription, to have one generated, where the input is
// another one and the name is still the old one.
func (v *formView) dropOldName(made map[string]any, d annotate.Driver, had annotate.Settings) {
	if had == nil || v.channel.Input.Broker != d.Type {
		return
	}
	old, another := membersOf(had), v.Get("inputTopic") != v.channel.Input.Name
	own := map[string]bool{}
	for _, f := range fieldsOf(d, annotate.InputTopic) {
		if f.IsOwn {
			own[f.Member] = true
			another = another || made[f.Member] != old[f.Member]
		}
	}
	for member := range own {
		if another && made[member] == had.Subscriber() && had.Subscriber() != "" {
			delete(made, member)
		}
	}
}

// secrets returns the secrets of a connection: those that are typed, and masks of those that
// stay.
func (v *formView) secrets(topic string, d annotate.Driver, shared bool, had annotate.Settings) map[string]any {
	secrets := map[string]any{}
	if shared {
		topic, had = "input", v.had(annotate.InputTopic, d.Type)
	}
	names := d.Settings.Default(topicRoles[topic]).Secrets()
	for _, secret := range names {
		if f := v.Find(fieldName(topic, d, secret.Member)); f != nil && f.Value != "" {
			secrets[secret.Member] = f.Value
		}
	}
	if had == nil || v.Get(fieldName(topic, d, "clear")) != "" {
		return secrets
	}
	for _, secret := range had.Secrets() {
		switch _, typed := secrets[secret.Member]; {
		case typed || secret.Value == "":
		case shared:
			secrets[secret.Member] = secret.Value // the input's, whose address was checked before
		default:
			secrets[secret.Member] = annotate.Masked
		}
	}
	return secrets
}

func nameOf(role annotate.TopicRole) string {
	for name, r := range topicRoles {
		if r == role {
			return name
		}
	}
	return ""
}

// sharesConnection reports whether a topic is at the broker of the input, with its account.
func sharesConnection(drivers []annotate.Driver, c manager.Channel, topic annotate.RoleTopic) bool {
	at := slices.IndexFunc(drivers, func(d annotate.Driver) bool { return d.Type == topic.Broker })
	if topic.Broker != c.Input.Broker || at < 0 || topic.Settings == nil || c.Input.Settings == nil {
		return false
	}
	a, b := membersOf(topic.Settings), membersOf(c.Input.Settings)
	for _, f := range fieldsOf(drivers[at], topic.Role) {
		if !f.IsOwn && a[f.Member] != b[f.Member] {
			return false
		}
	}
	return slices.Equal(topic.Settings.Secrets(), c.Input.Settings.Secrets())
}

// fieldOf returns the field that an error is about; nil if it is about none.
func (v *formView) fieldOf(err error) *form.Field {
	if errors.Is(err, annotate.ErrMapping) {
		return v.Find("rml")
	}
	if errors.Is(err, manager.ErrChannelExists) {
		return v.Find("id")
	}
	var fault *annotate.FieldError
	if !errors.As(err, &fault) {
		return nil
	}
	at := fault.Field
	for name, role := range topicRoles {
		connection, ok := strings.CutPrefix(at, "settings."+role.String()+".")
		if ok && strings.Contains(connection, ".") && v.Get(name+"Broker") == "" {
			at = "settings." + annotate.InputTopic.String() + "." + connection
			break
		}
	}
	return v.At(at)
}

// numberOrText returns a text as a whole number, if it is one.
func numberOrText(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return text
}
