package channelform

import (
	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
)

// Read reads a channel as clients send it and as it is shown. It accepts every spelling that
// clients of the contract use, and ignores unknown members.
func (f Forms) Read(data []byte) (Channel, error) {
	c, _, err := f.readChannel(data, false)
	return c, err
}

// ReadStored reads a channel as it is stored, and the error of its status. It keeps the
// settings for kinds of broker that have no driver.
func (f Forms) ReadStored(data []byte) (c Channel, fault string, err error) {
	return f.readChannel(data, true)
}

func (f Forms) readChannel(data []byte, stored bool) (c Channel, fault string, err error) {
	doc, err := members.Parse(data)
	if err != nil {
		return c, "", err
	}
	f.readSettings(doc.Object("settings"), &c, stored)
	metadata := doc.Object("metadata")
	c.About = About{
		Name: metadata.Text("name"), Author: metadata.Text("author"),
		Description: metadata.Text("description"), Tags: metadata.Texts("tags"),
	}
	c.Mapping = readMapping(metadata.Object("mapping"))
	if status, ok := doc.OptionalObject("status"); ok {
		is := readSwitches(status)
		isOff := func(on *bool) bool { return on != nil && !*on }
		c.Stopped = isOff(is.Run)
		c.Off = annotate.OptionalTopics{
			MonitorInput: isOff(is.MonitorInput), MonitorOutput: isOff(is.MonitorOutput), Error: isOff(is.Error),
		}
		fault = status.Text("error")
	}
	if err := doc.Err(); err != nil {
		return Channel{}, "", err
	}
	return c, fault, nil
}

func (f Forms) readSettings(o members.Object, c *Channel, stored bool) {
	c.ID = o.Text("channelId")
	c.Parallelism = o.Integer("parallelism", 1, 256)
	c.BufferSize = o.Integer("bufferSize", 1, 65536)
	c.ErrorFormat = annotate.ErrorFormat(o.Choice("errorFormat", string(annotate.ErrorText), string(annotate.ErrorJSON)))
	c.Dialect = o.Choice("dialect", "rml", "carml")
	c.ExactlyOnce, c.Distributed = o.True("exactlyOnce"), o.True("distributed")
	c.Spare = Spare{}
	topic := func(o members.Object, role annotate.TopicRole) annotate.Topic {
		topic, spare := f.readTopic(o, stored)
		c.Spare[role] = spare
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

func (f Forms) readTopic(o members.Object, stored bool) (annotate.Topic, spareSettings) {
	kinds := make([]string, len(f.Drivers))
	for i, d := range f.Drivers {
		kinds[i] = string(d.Type)
	}
	t := annotate.Topic{Name: o.RequiredText("topic"), Broker: annotate.BrokerType(o.OneOf("brokerType", kinds...))}
	spare := spareSettings{settings: map[annotate.BrokerType]annotate.Settings{}}
	known := []string{"topic", "brokerType"}
	for _, d := range f.Sorted {
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

// DecodeMapping reads a mapping as clients send it and as it is stored.
func DecodeMapping(data []byte) (annotate.Mapping, error) {
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

// Switches are what the status of a channel says, or asks for: whether the channel runs, and
// whether its optional topics are on. Nil means that the status does not say it.
type Switches struct{ Run, MonitorInput, MonitorOutput, Error *bool }

func readSwitches(o members.Object) Switches {
	enabled := func(names ...string) *bool {
		if on, ok := o.Bool(names...); ok {
			return &on
		}
		return nil
	}
	run := enabled("isStopped")
	if run != nil {
		*run = !*run
	}
	return Switches{
		Run:           run,
		MonitorInput:  enabled("inputMonitorTopicEnabled", "inputMonitoringTopicEnabled"),
		MonitorOutput: enabled("outputMonitorTopicEnabled", "outputMonitoringTopicEnabled"),
		Error:         enabled("errorTopicEnabled"),
	}
}

// DecodeSwitches reads the body of a PATCH. empty says that it has no known member. The member
// "error" is known and changes nothing: only the service sets it.
func DecodeSwitches(data []byte) (s Switches, empty bool, err error) {
	o, err := members.Parse(data)
	if err != nil {
		return Switches{}, false, err
	}
	s = readSwitches(o)
	if err := o.Err(); err != nil {
		return Switches{}, false, err
	}
	return s, s == Switches{} && !o.Has("error"), nil
}
