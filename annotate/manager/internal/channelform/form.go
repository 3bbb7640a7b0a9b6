package channelform

import (
	"maps"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/annotate"
)

// Forms reads and writes the JSON forms of channels: those of requests, of
// answers, and of stored documents.
type Forms struct {
	Drivers []annotate.Driver // in the order of the environment
	Sorted  []annotate.Driver // in the order of their members
}

// New returns the forms with the settings of the drivers.
func New(drivers []annotate.Driver) Forms {
	f := Forms{drivers, slices.Clone(drivers)}
	slices.SortFunc(f.Sorted, func(a, b annotate.Driver) int { return strings.Compare(a.Member, b.Member) })
	return f
}

// Form is the JSON form of a channel.
type Form struct {
	Settings Settings `json:"settings"`
	Metadata Metadata `json:"metadata"`
	Status   Status   `json:"status"`
}

// Settings is the JSON form of the settings of a channel.
type Settings struct {
	ChannelID     string               `json:"channelId"`
	Input         *Object              `json:"inputTopicSettings"`
	Output        *Object              `json:"outputTopicSettings"`
	MonitorInput  *Object              `json:"monitoringInputTopicSettings,omitempty"`
	MonitorOutput *Object              `json:"monitoringOutputTopicSettings,omitempty"`
	Error         *Object              `json:"errorTopicSettings,omitempty"`
	Parallelism   int                  `json:"parallelism,omitempty"`
	BufferSize    int                  `json:"bufferSize,omitempty"`
	ErrorFormat   annotate.ErrorFormat `json:"errorFormat,omitempty"`
	Dialect       string               `json:"dialect,omitempty"`
	ExactlyOnce   bool                 `json:"exactlyOnce,omitempty"`
	Distributed   bool                 `json:"distributed,omitempty"`
}

// Metadata is the JSON form of what describes a channel, with its mapping.
type Metadata struct {
	Name        string   `json:"name,omitempty"`
	Author      string   `json:"author,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	Mapping     Mapping  `json:"mapping"`
}

// MappingMembers are the members of a mapping that clients send.
type MappingMembers struct {
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

// Mapping is a mapping as it is shown and stored.
type Mapping struct {
	MappingMembers
	Hash string `json:"rmlHash" keep:"key"`
}

// Status is the status of a channel. A switch is nil where the topic is not
// configured.
type Status struct {
	IsStopped                 bool   `json:"isStopped"`
	InputMonitorTopicEnabled  *bool  `json:"inputMonitorTopicEnabled,omitempty"`
	OutputMonitorTopicEnabled *bool  `json:"outputMonitorTopicEnabled,omitempty"`
	ErrorTopicEnabled         *bool  `json:"errorTopicEnabled,omitempty"`
	Error                     string `json:"error,omitempty"`
	Retrying                  bool   `json:"retrying,omitempty"`
	Instance                  string `json:"instance,omitempty"`
}

// Settings returns the form of the settings of a channel.
func (f Forms) Settings(c Channel) Settings {
	s := Settings{
		ChannelID: c.ID, Parallelism: c.Parallelism, BufferSize: c.BufferSize,
		Dialect: c.Dialect, ErrorFormat: c.ErrorFormat, ExactlyOnce: c.ExactlyOnce, Distributed: c.Distributed,
	}
	places := [...]**Object{
		annotate.InputTopic: &s.Input, annotate.OutputTopic: &s.Output,
		annotate.MonitorInputTopic: &s.MonitorInput, annotate.MonitorOutputTopic: &s.MonitorOutput,
		annotate.ErrorTopic: &s.Error,
	}
	for _, topic := range c.Topics() {
		*places[topic.Role] = f.topic(&c, topic)
	}
	return s
}

func (f Forms) topic(c *Channel, topic annotate.RoleTopic) *Object {
	settings := map[string]any{}
	for name, value := range c.Spare[topic.Role].foreign {
		settings[name] = value
	}
	for _, d := range f.Sorted {
		if s := c.SettingsOf(topic, d.Type); s != nil {
			settings[d.Member] = s
		}
	}
	t := &Object{}
	t.Add("topic", topic.Name)
	t.Add("brokerType", topic.Broker)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		t.Add(name, settings[name])
	}
	return t
}

// Metadata returns the form of the metadata of the channel, with the texts of its mapping or
// without.
func (c *Channel) Metadata(withRML bool) Metadata {
	return Metadata{c.About.Name, c.About.Author, c.About.Description, c.About.Tags, MappingOf(c.Mapping, withRML)}
}

// MappingOf returns the form of a mapping, with its texts or without.
func MappingOf(m annotate.Mapping, withRML bool) Mapping {
	form := Mapping{MappingMembers{
		Name: m.Name, Author: m.Author, Version: m.Version, Description: m.Description, Tags: m.Tags,
		InputFormat: m.InputFormat, OutputFormat: m.OutputFormat, RML: m.RML, Language: m.Language, Shapes: m.Shapes,
	}, m.Hash()}
	if !withRML {
		form.RML, form.Shapes = "", ""
	}
	return form
}

// State is the state of a channel.
type State struct {
	Stopped  bool
	Off      annotate.OptionalTopics
	Error    string
	Retrying bool
	Instance string
}

// StatusOf returns the form of a state of the channel.
func StatusOf(c *annotate.ChannelConfig, s State) Status {
	enabled := func(topic *annotate.Topic, off bool) *bool {
		if topic == nil {
			return nil
		}
		on := !off
		return &on
	}
	return Status{
		IsStopped:                 s.Stopped,
		InputMonitorTopicEnabled:  enabled(c.MonitorInput, s.Off.MonitorInput),
		OutputMonitorTopicEnabled: enabled(c.MonitorOutput, s.Off.MonitorOutput),
		ErrorTopicEnabled:         enabled(c.Error, s.Off.Error),
		Error:                     s.Error, Retrying: s.Retrying, Instance: s.Instance,
	}
}
