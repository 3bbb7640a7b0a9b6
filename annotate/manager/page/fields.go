package page

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/form"
)

// describe returns the fields of the form: those of the channel, and a group for the connections of
// each topic. Their paths are those of the REST interface.
func (v *formView) describe() form.Fields {
	const settings, metadata, mapping = "settings.", "metadata.", "metadata.mapping."
	fields := form.Fields{
		{Name: "sample", Kind: form.Area, Rows: 6, Label: "One message as it comes, in JSON, CSV or XML",
			Hint: "It is used to suggest a mapping, and is not kept."},
		{Name: "id", Path: settings + "channelId", Label: "Identifier", MaxLength: 200, Placeholder: "derived from the topics"},
		{Name: "channel", Kind: form.Group, Fields: form.Fields{
			{Name: "inputFormat", Path: mapping + "inputFormat", Label: "Messages come in", Options: form.Options(annotate.InputFormats()...)},
			{Name: "outputFormat", Path: mapping + "outputFormat", Label: "RDF goes out as", Options: form.Options(annotate.OutputFormats()...)},
			{Name: "language", Path: mapping + "language", Label: "The mapping is in", Options: form.Options(annotate.MappingLanguages()...)},
			{Name: "rml", Path: mapping + "rml", Kind: form.Area, Rows: 14, Label: "RML or CARML in Turtle, or YARRRML"},
			{Name: "shapes", Path: mapping + "shapes", Rows: 10, Label: "SHACL, in Turtle",
				Hint: "A message that violates a shape fails and is not published. Empty: nothing is checked."},
			{Name: "name", Path: metadata + "name", Label: "Name", MaxLength: 200},
			{Name: "description", Path: metadata + "description", Kind: form.Prose, Label: "Description", MaxLength: 2000},
			{Name: "stopped", Path: "status.isStopped", Kind: form.Check, Label: "Make it, and start it later"},
			{Name: "author", Path: metadata + "author", Label: "Author", MaxLength: 200},
			{Name: "tags", Path: metadata + "tags", Kind: form.Words, Label: "Tags, with commas between them", MaxLength: 1000},
			{Name: "parallelism", Path: settings + "parallelism", Kind: form.Scalar, Label: "Messages mapped at a time",
				Placeholder: "1 to 256; the service's default"},
			{Name: "bufferSize", Path: settings + "bufferSize", Kind: form.Scalar, Label: "Messages that wait for each",
				Placeholder: "1 to 65536; the service's default"},
			{Name: "dialect", Path: settings + "dialect", Label: "Dialect",
				Options: append([]form.Option{{Label: "by the vocabulary of the mapping"}}, form.Options("rml", "carml")...)},
			{Name: "errorFormat", Path: settings + "errorFormat", Label: "Form of failures", Options: []form.Option{
				{Label: string(annotate.ErrorText)}, {Value: string(annotate.ErrorJSON)}}},
			{Name: "exactlyOnce", Path: settings + "exactlyOnce", Kind: form.Check, Label: "Exactly once, within one Kafka cluster"},
			{Name: "distributed", Path: settings + "distributed", Kind: form.Check,
				Label: "On all instances at once, which share the messages"},
		}},
		v.topic("input", "Topic", ""), v.topic("output", "Topic", ""),
		v.topic("error", "Topic for failures", "Empty: failures are counted, kept for a while and logged, and not published."),
		v.topic("monitorInput", "Topic for notes about input", ""), v.topic("monitorOutput", "Topic for notes about output", ""),
	}
	fields.Each(func(f *form.Field) { f.Sparse = true })
	return fields
}

// topic returns the group of a topic: its name, the kind of its broker, and a group of settings for each kind.
func (v *formView) topic(name, label, hint string) form.Field {
	role := topicRoles[name]
	path := "settings." + role.String() + "."
	topic := form.Field{Name: name + "Topic", Path: path + "topic", Label: label, Hint: hint, MaxLength: 1000,
		Required: name == "input" || name == "output"}
	broker := form.Field{Name: name + "Broker", Path: path + "brokerType", Label: "Broker", Kind: form.Choice}
	if name != "input" {
		broker.Options = []form.Option{{Label: "that of the input, with its account"}}
	}
	kinds := form.Field{Name: name, Kind: form.Group}
	for _, d := range v.drivers {
		if !d.OutputOnly || role == annotate.OutputTopic {
			title := cmp.Or(d.Title, string(d.Type))
			broker.Options = append(broker.Options, form.Option{Value: string(d.Type), Label: title})
			kinds.Fields = append(kinds.Fields, form.Field{Name: string(d.Type), Label: title, Kind: form.Group,
				Fields: v.settings(name, d, path+d.Member+".")})
		}
	}
	return form.Field{Name: "topic " + name, Kind: form.Group, Fields: form.Fields{topic, broker, kinds}}
}

// settings returns the members of the settings of a kind of broker.
func (v *formView) settings(topic string, d annotate.Driver, path string) form.Fields {
	var fields form.Fields
	role := topicRoles[topic]
	defaults, had, shown := membersOf(d.Settings.Default(role)), v.had(role, d.Type), map[string]any{}
	if had != nil {
		shown = membersOf(had)
	}
	for _, f := range fieldsOf(d, role) {
		field := form.Field{Name: fieldName(topic, d, f.Member), Path: path + f.Member, Label: f.Title, Placeholder: f.Hint}
		if byDefault, ok := defaults[f.Member]; ok && !f.IsOwn {
			field.Placeholder = fmt.Sprint(byDefault)
		}
		if len(f.Choices) > 0 {
			field.Options = choices(f, fmt.Sprint(cmp.Or(defaults[f.Member], "")), field.Placeholder, shown[f.Member])
		}
		fields = append(fields, field)
	}
	secrets := d.Settings.Default(role).Secrets()
	for _, secret := range secrets {
		fields = append(fields, form.Field{Name: fieldName(topic, d, secret.Member), Path: path + secret.Member, Label: titled(secret.Member),
			Kind: form.Secret, Mask: annotate.Masked})
	}
	if had != nil && channelform.HasSecrets(had) {
		fields = append(fields, form.Field{Name: fieldName(topic, d, "clear"), Kind: form.Check, Label: "Forget user and password"})
	}
	return fields
}

// choices returns the values of a member: empty for the default, and the one that it has.
func choices(f annotate.Field, byDefault, usual string, had any) []form.Option {
	all := slices.Clone(f.Choices)
	for _, other := range []string{byDefault, fmt.Sprint(cmp.Or(had, ""))} {
		if other != "" && !slices.Contains(all, other) {
			all = append(all, other)
		}
	}
	none := form.Option{}
	if usual != "" {
		none.Label = "default: " + usual
	}
	return append([]form.Option{none}, form.Options(all...)...)
}
