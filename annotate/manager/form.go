package manager

import (
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
)

// forms reads and writes the JSON forms of channels: those of requests, of
// answers, and of stored documents.
type forms struct {
	drivers []annotate.Driver // in the order of the environment
	sorted  []annotate.Driver // in the order of their members
}

func newForms(drivers []annotate.Driver) forms {
	f := forms{drivers, slices.Clone(drivers)}
	slices.SortFunc(f.sorted, func(a, b annotate.Driver) int { return strings.Compare(a.Member, b.Member) })
	return f
}

// channelForm is the JSON form of a channel.
type channelForm struct {
	Settings settingsForm `json:"settings"`
	Metadata metadataForm `json:"metadata"`
	Status   statusForm   `json:"status"`
}

type settingsForm struct {
	ChannelID     string               `json:"channelId"`
	Input         *jsonObject          `json:"inputTopicSettings"`
	Output        *jsonObject          `json:"outputTopicSettings"`
	MonitorInput  *jsonObject          `json:"monitoringInputTopicSettings,omitempty"`
	MonitorOutput *jsonObject          `json:"monitoringOutputTopicSettings,omitempty"`
	Error         *jsonObject          `json:"errorTopicSettings,omitempty"`
	Parallelism   int                  `json:"parallelism,omitempty"`
	BufferSize    int                  `json:"bufferSize,omitempty"`
	ErrorFormat   annotate.ErrorFormat `json:"errorFormat,omitempty"`
	Dialect       string               `json:"dialect,omitempty"`
	ExactlyOnce   bool                 `json:"exactlyOnce,omitempty"`
	Distributed   bool                 `json:"distributed,omitempty"`
}

type metadataForm struct {
	Name        string      `json:"name,omitempty"`
	Author      string      `json:"author,omitempty"`
	Description string      `json:"description,omitempty"`
	Tags        []string    `json:"tags,omitempty"`
	Mapping     mappingForm `json:"mapping"`
}

// mappingMembers are the members of a mapping that clients send.
type mappingMembers struct {
	Name         string                `json:"name,omitempty"`
	Author       string                `json:"author,omitempty"`
	Version      string                `json:"version,omitempty"`
	Description  string                `json:"description,omitempty"`
	Tags         []string              `json:"tags,omitempty"`
	InputFormat  annotate.InputFormat  `json:"inputFormat"`
	OutputFormat annotate.OutputFormat `json:"outputFormat"`
	RML          string                `json:"rml,omitempty"`
	Shapes       string                `json:"shapes,omitempty"`

	Language annotate.MappingLanguage `json:"language,omitempty"`
}

// mappingForm is a mapping as it is shown and stored.
type mappingForm struct {
	mappingMembers
	Hash string `json:"rmlHash" keep:"key"`
}

// statusForm is the status of a channel. A switch is nil where the topic is not
// configured.
type statusForm struct {
	IsStopped                 bool   `json:"isStopped"`
	InputMonitorTopicEnabled  *bool  `json:"inputMonitorTopicEnabled,omitempty"`
	OutputMonitorTopicEnabled *bool  `json:"outputMonitorTopicEnabled,omitempty"`
	ErrorTopicEnabled         *bool  `json:"errorTopicEnabled,omitempty"`
	Error                     string `json:"error,omitempty"`
	Retrying                  bool   `json:"retrying,omitempty"`
	Instance                  string `json:"instance,omitempty"`
}

// settings returns the form of the settings of a channel.
func (f forms) settings(c ChannelConfig) settingsForm {
	s := settingsForm{
		ChannelID: c.ID, Parallelism: c.Parallelism, BufferSize: c.BufferSize,
		Dialect: c.Dialect, ErrorFormat: c.ErrorFormat, ExactlyOnce: c.ExactlyOnce, Distributed: c.Distributed,
	}
	places := [...]**jsonObject{
		annotate.InputTopic: &s.Input, annotate.OutputTopic: &s.Output,
		annotate.MonitorInputTopic: &s.MonitorInput, annotate.MonitorOutputTopic: &s.MonitorOutput,
		annotate.ErrorTopic: &s.Error,
	}
	for _, topic := range c.Topics() {
		*places[topic.Role] = f.topic(topic, c.spare[topic.Role])
	}
	return s
}

func (f forms) topic(topic annotate.RoleTopic, spare spareSettings) *jsonObject {
	settings := map[string]any{}
	for name, value := range spare.foreign {
		settings[name] = value
	}
	for _, d := range f.sorted {
		if s := settingsOf(topic, spare, d.Type); s != nil {
			settings[d.Member] = s
		}
	}
	t := &jsonObject{}
	t.add("topic", topic.Name)
	t.add("brokerType", topic.Broker)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		t.add(name, settings[name])
	}
	return t
}

// settingsOf returns the settings of a topic for a kind of broker, its own or
// spare ones.
func settingsOf(topic annotate.RoleTopic, spare spareSettings, kind annotate.BrokerType) annotate.Settings {
	if topic.Broker == kind {
		return topic.Settings
	}
	return spare.settings[kind]
}

// setSettings replaces the settings of a topic for a kind of broker.
func (c *ChannelConfig) setSettings(topic annotate.RoleTopic, kind annotate.BrokerType, s annotate.Settings) {
	if topic.Broker == kind {
		topic.Settings = s
		return
	}
	if c.spare == nil {
		c.spare = map[annotate.TopicRole]spareSettings{}
	}
	spare := c.spare[topic.Role]
	if spare.settings == nil {
		spare.settings = map[annotate.BrokerType]annotate.Settings{}
	}
	spare.settings[kind] = s
	c.spare[topic.Role] = spare
}

// complete fills in the spare settings of a channel that is otherwise complete.
func (f forms) complete(c *ChannelConfig) {
	for _, topic := range c.Topics() {
		for _, d := range f.drivers {
			if d.Type != topic.Broker {
				spare := settingsOf(topic, c.spare[topic.Role], d.Type)
				if s := d.Settings.Complete(spare, topic.Role, c.ID); s != nil {
					c.setSettings(topic, d.Type, s)
				}
			}
		}
	}
}

// metadata returns the form of the metadata of a channel.
func metadataOf(c ChannelConfig, withRML bool) metadataForm {
	d := c.Metadata
	return metadataForm{d.Name, d.Author, d.Description, d.Tags, mappingOf(c.Mapping, withRML)}
}

// mappingOf returns the form of a mapping, with its texts or without.
func mappingOf(m annotate.Mapping, withRML bool) mappingForm {
	form := mappingForm{mappingMembers{
		Name: m.Name, Author: m.Author, Version: m.Version, Description: m.Description, Tags: m.Tags,
		InputFormat: m.InputFormat, OutputFormat: m.OutputFormat, RML: m.RML, Language: m.Language, Shapes: m.Shapes,
	}, m.Hash()}
	if !withRML {
		form.RML, form.Shapes = "", ""
	}
	return form
}

// statusOf returns the form of a status of the channel.
func statusOf(c *annotate.ChannelConfig, s Status) statusForm {
	enabled := func(topic *annotate.Topic, off bool) *bool {
		if topic == nil {
			return nil
		}
		on := !off
		return &on
	}
	return statusForm{
		IsStopped:                 s.Stopped,
		InputMonitorTopicEnabled:  enabled(c.MonitorInput, s.Off.MonitorInput),
		OutputMonitorTopicEnabled: enabled(c.MonitorOutput, s.Off.MonitorOutput),
		ErrorTopicEnabled:         enabled(c.Error, s.Off.Error),
		Error:                     s.Error, Retrying: s.Retrying, Instance: s.Instance,
	}
}

// read reads a channel as clients send it and as it is shown, and the error of
// its status. It accepts every spelling that clients of the contract use, and
// ignores unknown members.
func (f forms) read(data []byte) (c ChannelConfig, fault string, err error) {
	return f.readChannel(data, false)
}

// readStored reads a channel as it is stored. It keeps the settings for kinds of
// broker that have no driver.
func (f forms) readStored(data []byte) (c ChannelConfig, fault string, err error) {
	return f.readChannel(data, true)
}

func (f forms) readChannel(data []byte, stored bool) (c ChannelConfig, fault string, err error) {
	doc, err := members.Parse(data)
	if err != nil {
		return c, "", err
	}
	f.readSettings(doc.Object("settings"), &c, stored)
	metadata := doc.Object("metadata")
	c.Metadata = Metadata{
		Name: metadata.Text("name"), Author: metadata.Text("author"),
		Description: metadata.Text("description"), Tags: metadata.Texts("tags"),
	}
	c.Mapping = readMapping(metadata.Object("mapping"))
	if status, ok := doc.OptionalObject("status"); ok {
		update := readUpdate(status)
		c.Stopped = update.Run == Off
		c.Off = annotate.OptionalTopics{
			MonitorInput: update.MonitorInput == Off, MonitorOutput: update.MonitorOutput == Off, Error: update.Error == Off,
		}
		fault = status.Text("error")
	}
	if err := doc.Err(); err != nil {
		return ChannelConfig{}, "", err
	}
	return c, fault, nil
}

func (f forms) readSettings(o members.Object, c *ChannelConfig, stored bool) {
	c.ID = o.Text("channelId")
	c.Parallelism = o.Integer("parallelism", 1, 256)
	c.BufferSize = o.Integer("bufferSize", 1, 65536)
	c.ErrorFormat = annotate.ErrorFormat(o.Choice("errorFormat", string(annotate.ErrorText), string(annotate.ErrorJSON)))
	c.Dialect = o.Choice("dialect", "rml", "carml")
	c.ExactlyOnce, c.Distributed = o.True("exactlyOnce"), o.True("distributed")
	c.spare = map[annotate.TopicRole]spareSettings{}
	topic := func(o members.Object, role annotate.TopicRole) annotate.Topic {
		topic, spare := f.readTopic(o, stored)
		c.spare[role] = spare
		return topic
	}
	c.Input = topic(o.Object("inputTopicSettings"), annotate.InputTopic)
	c.Output = topic(o.Object("outputTopicSettings"), annotate.OutputTopic)
	for _, optional := range []struct {
		to    **annotate.Topic
		role  annotate.TopicRole
		names []string
	}{
		{&c.MonitorInput, annotate.MonitorInputTopic, []string{"monitorInputTopicSettings", "monitoringInputTopicSettings"}},
		{&c.MonitorOutput, annotate.MonitorOutputTopic, []string{"monitorOutputTopicSettings", "monitoringOutputTopicSettings"}},
		{&c.Error, annotate.ErrorTopic, []string{"errorTopicSettings"}},
	} {
		if o, ok := o.OptionalObject(optional.names...); ok {
			t := topic(o, optional.role)
			*optional.to = &t
		}
	}
}

func (f forms) readTopic(o members.Object, stored bool) (annotate.Topic, spareSettings) {
	kinds := make([]string, len(f.drivers))
	for i, d := range f.drivers {
		kinds[i] = string(d.Type)
	}
	t := annotate.Topic{Name: o.RequiredText("topic"), Broker: annotate.BrokerType(o.OneOf("brokerType", kinds...))}
	spare := spareSettings{settings: map[annotate.BrokerType]annotate.Settings{}}
	known := []string{"topic", "brokerType"}
	for _, d := range f.sorted {
		known = append(known, d.Member)
		object, ok := o.OptionalObject(d.Member)
		if !ok {
			continue
		}
		settings, err := d.Settings.Read(object.JSON())
		switch {
		case err != nil:
			object.Fail(err)
		case d.Type == t.Broker:
			t.Settings = settings
		default:
			spare.settings[d.Type] = settings
		}
	}
	if stored {
		spare.foreign = o.Others(known...)
	}
	return t, spare
}

func readMapping(o members.Object) annotate.Mapping {
	return annotate.Mapping{
		Name:         o.Text("name"),
		Author:       o.Text("author"),
		Version:      o.Text("version"),
		Description:  o.Text("description"),
		Tags:         o.Texts("tags"),
		InputFormat:  annotate.InputFormat(o.OneOf("inputFormat", texts(annotate.InputFormats())...)),
		OutputFormat: annotate.OutputFormat(o.OneOf("outputFormat", texts(annotate.OutputFormats())...)),
		RML:          o.RequiredText("rml"),
		Shapes:       o.Text("shapes"),
		Language:     annotate.MappingLanguage(o.Choice("language", texts(annotate.MappingLanguages())...)),
	}
}

func texts[T ~string](values []T) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts
}

// decodeMapping reads a mapping as clients send it and as it is stored.
func decodeMapping(data []byte) (annotate.Mapping, error) {
	o, err := members.Parse(data)
	if err != nil {
		return annotate.Mapping{}, err
	}
	m := readMapping(o)
	if err := o.Err(); err != nil {
		return annotate.Mapping{}, err
	}
	return m, nil
}

// readUpdate reads the status of a channel as an update.
func readUpdate(o members.Object) Update {
	enabled := func(names ...string) Switch {
		switch on, ok := o.Bool(names...); {
		case !ok:
			return Keep
		case on:
			return On
		}
		return Off
	}
	update := Update{}
	if stopped, ok := o.Bool("isStopped"); ok {
		update.Run = On
		if stopped {
			update.Run = Off
		}
	}
	update.MonitorInput = enabled("inputMonitorTopicEnabled", "inputMonitoringTopicEnabled")
	update.MonitorOutput = enabled("outputMonitorTopicEnabled", "outputMonitoringTopicEnabled")
	update.Error = enabled("errorTopicEnabled")
	return update
}

// decodeUpdate reads the body of a PATCH. empty says that it has no known member. The member
// "error" is known and changes nothing: only the service sets it.
func decodeUpdate(data []byte) (update Update, empty bool, err error) {
	o, err := members.Parse(data)
	if err != nil {
		return Update{}, false, err
	}
	update = readUpdate(o)
	if err := o.Err(); err != nil {
		return Update{}, false, err
	}
	return update, update == Update{} && !o.Has("error"), nil
}
