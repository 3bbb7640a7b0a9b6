package sparql

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
	"github.com/iotenablers/enablers/annotate/rdf"
)

// ChannelWindow is the number of messages in flight of a channel to a store.
const ChannelWindow = 1024

// Driver is the kind of SPARQL stores of an annotate.Environment. The broker opens the
// connections: one created by [New], or another that reads [Settings].
func Driver(broker annotate.Broker) annotate.Driver {
	var settings settingsDriver
	if b, ok := broker.(*Broker); ok && b != nil {
		settings.hosts = b.opts.Hosts
	}
	return annotate.Driver{
		Type: Type, Title: "a SPARQL store", Member: "sparqlSettings", Broker: broker, Settings: settings,
		Window: ChannelWindow, OutputOnly: true, Format: annotate.NQuads,
	}
}

// settingsDriver is the annotate.SettingsDriver of stores.
type settingsDriver struct{ hosts *annotate.BrokerHosts }

// Read implements annotate.SettingsDriver.
func (settingsDriver) Read(object []byte) (annotate.Settings, error) {
	o, err := members.Parse(object)
	if err != nil {
		return nil, err
	}
	s := Settings{
		Protocol: o.OneOf("protocol", GraphStore, Update), URL: o.RequiredText("url"),
		User: o.Text("user"), Password: o.Text("password"), Token: o.Text("token"),
	}
	return s, o.Err()
}

// Complete implements annotate.SettingsDriver. There is nothing to fill in.
func (settingsDriver) Complete(settings annotate.Settings, _ annotate.TopicRole, _ string) annotate.Settings {
	return settings
}

// Default implements annotate.SettingsDriver: settings without an address.
func (settingsDriver) Default(annotate.TopicRole) annotate.Settings { return Settings{} }

// Check implements annotate.SettingsDriver.
func (d settingsDriver) Check(topic annotate.Topic, _ annotate.TopicRole) error {
	if _, ok := rdf.ValidIRI([]byte(graphName(topic.Name, "0"))); !ok {
		return &annotate.FieldError{Field: "topic", Reason: fmt.Sprintf(
			"expected an absolute IRI that the names of graphs begin with, such as https://example.org/weather/, got %.60q", topic.Name)}
	}
	if topic.Settings == nil {
		return &annotate.FieldError{Field: "sparqlSettings", Reason: "required, expected an object with protocol and url"}
	}
	s, ok := topic.Settings.(Settings)
	if !ok {
		return &annotate.FieldError{Field: "sparqlSettings", Reason: fmt.Sprintf("expected sparql.Settings, got %T", topic.Settings)}
	}
	return annotate.Below("sparqlSettings", d.check(s))
}

// check returns an *annotate.FieldError for settings that no store can have.
func (d settingsDriver) check(s Settings) error {
	if s.Protocol != Update && s.Protocol != GraphStore {
		return &annotate.FieldError{Field: "protocol", Reason: fmt.Sprintf("expected one of graphStore, update, got %q", s.Protocol)}
	}
	if err := s.endpoint().Check(d.hosts); err != nil {
		return err
	}
	if at, err := url.Parse(s.URL); err == nil && s.Protocol == GraphStore && (at.Query().Has("graph") || at.Query().Has("default")) {
		return &annotate.FieldError{Field: "url", Reason: "names a graph in its query; each message has a graph of its own, leave it out"}
	}
	return nil
}

// Fields implements annotate.FormDriver.
func (settingsDriver) Fields(annotate.TopicRole) []annotate.Field {
	return []annotate.Field{
		{Member: "protocol", Title: "Protocol", Choices: []string{GraphStore, Update}},
		{Member: "url", Title: "Address of the endpoint"},
	}
}

// graphName returns the name of the graph of a message.
func graphName(topic, id string) string {
	if topic == "" || strings.ContainsRune("/#:=", rune(topic[len(topic)-1])) {
		return topic + id
	}
	return topic + "/" + id
}
