package page

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/shell"
)

// formView is the page on which a channel is made or changed.
type formView struct {
	shell.Frame
	Form    url.Values
	Topics  map[string]formTopic // by their names
	Inputs  []annotate.InputFormat
	Outputs []annotate.OutputFormat

	Languages []annotate.MappingLanguage

	Stored bool
	Fault  string
	At     string // the field that Fault is about, by its name
	Tried  []triedView

	// ID and Name are those of the channel that is changed, and Base is its state when
	// the form was first shown; empty for a new channel.
	ID, Name, Base string

	drivers []annotate.Driver
	channel *manager.Channel // that is changed
}

// Value returns a field of the form.
func (v *formView) Value(name string) string { return v.Form.Get(name) }

// formTopic is a topic of the form.
type formTopic struct {
	Name, Title string
	Broker      string // the kind that is chosen; empty means that of the input
	At          string
	Kinds       []formKind
}

// formKind is a kind of broker with the members of its settings.
type formKind struct {
	Type, Title string
	Fields      []formField
	// ClearName is the field that forgets secrets, empty where there are none.
	ClearName string
	Clear     bool
}

// formField is a member of the settings of a kind of broker.
type formField struct {
	Name, Title, Value, Placeholder string
	Choices                         []string
	IsSecret                        bool
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
func (p *pages) newForm(r *http.Request, values url.Values, channel *manager.Channel) *formView {
	v := &formView{Form: values, Inputs: annotate.InputFormats(), Outputs: annotate.OutputFormats(),
		Languages: annotate.MappingLanguages(), drivers: p.env.Drivers, channel: channel}
	if channel == nil {
		v.Frame = p.part.Frame(r, "New channel", shell.Crumb{Name: "New channel", Href: "new"})
		return v
	}
	v.ID, v.Name = channel.ID, cmp.Or(channel.Metadata.Name, channel.ID)
	v.Base = cmp.Or(values.Get("base"), p.baseOf(channel.ChannelConfig))
	v.Frame = p.part.Frame(r, "Edit "+v.Name, shell.Crumb{Name: v.Name, Href: channelHref(channel.ID)},
		shell.Crumb{Name: "Edit", Href: channelHref(channel.ID) + "/edit"})
	return v
}

// show answers with the form.
func (p *pages) showForm(w http.ResponseWriter, r *http.Request, status int, v *formView) error {
	v.Topics = map[string]formTopic{}
	for _, name := range topicNames() {
		v.Topics[name] = v.topic(name)
	}
	stored, _, err := p.manager.Annotations().Page(r.Context(), "", 1)
	v.Stored = err == nil && len(stored) > 0
	return p.part.Show(w, r, status, "form.html", v)
}

// topic returns a topic as the form shows it.
func (v *formView) topic(name string) formTopic {
	t := formTopic{Name: name, Title: roleText(topicRoles[name]), Broker: v.Form.Get(name + "Broker"), At: v.At}
	for _, d := range v.drivers {
		if d.OutputOnly && topicRoles[name] != annotate.OutputTopic {
			continue
		}
		kind := formKind{Type: string(d.Type), Title: cmp.Or(d.Title, string(d.Type))}
		defaults := membersOf(d.Settings.Default(topicRoles[name]))
		for _, f := range fieldsOf(d, topicRoles[name]) {
			at := v.fieldName(name, d, f.Member)
			field := formField{Name: at, Title: f.Title, Value: v.Form.Get(at), Placeholder: f.Hint, Choices: f.Choices}
			if byDefault, ok := defaults[f.Member]; ok && !f.IsOwn {
				field.Placeholder = fmt.Sprint(byDefault)
			}
			if len(f.Choices) > 0 {
				field.Choices = choices(f, defaults, field.Value)
			}
			kind.Fields = append(kind.Fields, field)
		}
		had := v.had(topicRoles[name], d.Type)
		for _, secret := range d.Settings.Default(topicRoles[name]).Secrets() {
			field := formField{Name: v.fieldName(name, d, secret.Member), Title: titled(secret.Member), IsSecret: true}
			if had != nil && channelform.HasSecrets(had) {
				field.Placeholder, kind.ClearName = "unchanged", v.fieldName(name, d, "clear")
				kind.Clear = v.Form.Get(kind.ClearName) != ""
			}
			kind.Fields = append(kind.Fields, field)
		}
		t.Kinds = append(t.Kinds, kind)
	}
	return t
}

// titled returns the name of a member as the title of a field.
func titled(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// choices returns the values of a field: empty for the default, and the one that it has.
func choices(f annotate.Field, defaults map[string]any, value string) []string {
	all := slices.Clone(f.Choices)
	for _, other := range []string{fmt.Sprint(cmp.Or(defaults[f.Member], "")), value} {
		if other != "" && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	return append([]string{""}, all...)
}

func (v *formView) fieldName(topic string, d annotate.Driver, member string) string {
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
func (v *formView) read(m *manager.Manager) (manager.ChannelConfig, error) {
	// Browsers send lines as HTML has them, with carriage returns.
	text := func(name string) string { return strings.ReplaceAll(v.Form.Get(name), "\r\n", "\n") }
	value := func(name string) string { return strings.TrimSpace(text(name)) }
	settings := map[string]any{"channelId": cmp.Or(v.ID, value("id")), "exactlyOnce": value("exactlyOnce") != "",
		"distributed": value("distributed") != "" || v.channel != nil && v.channel.Distributed}
	for _, name := range []string{"parallelism", "bufferSize"} {
		if number := value(name); number != "" {
			settings[name] = numberOr(number)
		}
	}
	if dialect := value("dialect"); dialect != "" {
		settings["dialect"] = dialect
	}
	if format := value("errorFormat"); format != "" {
		settings["errorFormat"] = format
	}
	var input map[string]any
	for _, name := range topicNames() {
		topic := value(name + "Topic")
		if topic == "" && name != "input" && name != "output" {
			continue
		}
		shared := name != "input" && value(name+"Broker") == ""
		kind := value(name + "Broker")
		if shared {
			kind = value("inputBroker")
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
	metadata := channelform.Metadata{}
	if v.channel != nil {
		form := v.channel.Form()
		metadata = form.Metadata(true)
	}
	metadata.Name, metadata.Description, metadata.Author = value("name"), value("description"), value("author")
	metadata.Tags = strings.FieldsFunc(v.Form.Get("tags"), func(r rune) bool { return r == ',' || r == ' ' })
	metadata.Mapping.Name = cmp.Or(value("mappingName"), metadata.Mapping.Name)
	metadata.Mapping.InputFormat = annotate.InputFormat(value("inputFormat"))
	metadata.Mapping.OutputFormat = annotate.OutputFormat(value("outputFormat"))
	metadata.Mapping.RML, metadata.Mapping.Language = text("rml"), languageOf(v.Form)
	metadata.Mapping.Shapes = strings.TrimSpace(text("shapes"))
	data, err := json.Marshal(map[string]any{"settings": settings, "metadata": metadata,
		"status": map[string]any{"isStopped": value("stopped") != ""}})
	if err != nil {
		return manager.ChannelConfig{}, fmt.Errorf("read form: %w", err)
	}
	return m.ReadChannel(data)
}

// numberOr returns a text as a number, if it is one.
func numberOr(text string) any {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	return text
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
		value := strings.TrimSpace(v.Form.Get(v.fieldName(topic, d, f.Member)))
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
			made[f.Member] = numberOr(value)
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
	old, another := membersOf(had), strings.TrimSpace(v.Form.Get("inputTopic")) != v.channel.Input.Name
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
		if value := v.Form.Get(v.fieldName(topic, d, secret.Member)); value != "" {
			secrets[secret.Member] = value
		}
	}
	if had == nil || v.Form.Get(v.fieldName(topic, d, "clear")) != "" {
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

// formOf returns the fields that show a channel.
func formOf(drivers []annotate.Driver, c manager.Channel) url.Values {
	form := url.Values{}
	set := func(name, value string) { form.Set(name, value) }
	set("name", c.Metadata.Name)
	set("description", c.Metadata.Description)
	set("author", c.Metadata.Author)
	set("tags", strings.Join(c.Metadata.Tags, ", "))
	set("rml", c.Mapping.RML)
	set("shapes", c.Mapping.Shapes)
	set("language", string(c.Mapping.Language))
	set("inputFormat", string(c.Mapping.InputFormat))
	set("outputFormat", string(c.Mapping.OutputFormat))
	set("parallelism", strconv.Itoa(c.Parallelism))
	set("bufferSize", strconv.Itoa(c.BufferSize))
	set("dialect", c.Dialect)
	set("errorFormat", string(c.ErrorFormat))
	if c.ExactlyOnce {
		set("exactlyOnce", "1")
	}
	channel := c.Form()
	for _, topic := range channel.Topics() {
		name := nameOf(topic.Role)
		set(name+"Topic", topic.Name)
		if topic.Role == annotate.InputTopic || !sharesConnection(drivers, c, topic) {
			set(name+"Broker", string(topic.Broker))
		}
		for _, d := range drivers {
			had := channel.SettingsOf(topic, d.Type)
			if had == nil {
				continue
			}
			members := membersOf(had)
			for _, f := range fieldsOf(d, topic.Role) {
				if value, ok := members[f.Member]; ok {
					set(name+"."+string(d.Type)+"."+f.Member, fmt.Sprint(value))
				}
			}
		}
	}
	return form
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

// fieldOf returns the name of the form's field that an error is about, empty if it is about
// none.
func (v *formView) fieldOf(err error) string {
	if errors.Is(err, annotate.ErrMapping) {
		return "rml"
	}
	if errors.Is(err, manager.ErrChannelExists) {
		return "id"
	}
	var field *annotate.FieldError
	if !errors.As(err, &field) {
		return ""
	}
	for name, role := range topicRoles {
		rest, ok := strings.CutPrefix(field.Field, "settings."+role.String())
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, ".")
		if rest == "" || rest == "topic" {
			return name + "Topic"
		}
		member, of, _ := strings.Cut(rest, ".")
		at := slices.IndexFunc(v.drivers, func(d annotate.Driver) bool { return d.Member == member })
		if at < 0 || of == "" {
			return name + "Broker"
		}
		if v.Form.Get(name+"Broker") == "" {
			name = "input"
		}
		return v.fieldName(name, v.drivers[at], of)
	}
	last := field.Field[strings.LastIndexByte(field.Field, '.')+1:]
	if last == "channelId" {
		return "id"
	}
	return last
}
