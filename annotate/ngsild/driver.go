package ngsild

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
	"github.com/iotenablers/enablers/annotate/rdf"
	"github.com/iotenablers/enablers/internal/httpclient"
)

// ChannelWindow is the number of messages in flight of a channel to a broker.
const ChannelWindow = 1024

// maxTenant is the length of the longest name of a tenant, in bytes.
const maxTenant = 255

// Driver is the kind of NGSI-LD brokers of an annotate.Environment. The broker opens the
// connections: one created by [New], or another that reads [Settings].
func Driver(broker annotate.Broker) annotate.Driver {
	var settings settingsDriver
	if b, ok := broker.(*Broker); ok && b != nil {
		settings.hosts = b.opts.Hosts
	}
	return annotate.Driver{
		Type: Type, Title: "an NGSI-LD broker", Member: "ngsildSettings", Broker: broker, Settings: settings,
		Window: ChannelWindow, OutputOnly: true, Format: annotate.NQuads,
	}
}

// settingsDriver is the annotate.SettingsDriver of NGSI-LD brokers.
type settingsDriver struct{ hosts *annotate.BrokerHosts }

// Read implements annotate.SettingsDriver.
func (settingsDriver) Read(object []byte) (annotate.Settings, error) {
	o, err := members.Parse(object)
	if err != nil {
		return nil, err
	}
	s := Settings{
		URL: o.RequiredText("url"), Tenant: o.Text("tenant"), Context: o.Text("context"), Mode: o.Text("mode"),
		User: o.Text("user"), Password: o.Text("password"), Token: o.Text("token"),
	}
	return s, o.Err()
}

// Complete implements annotate.SettingsDriver.
func (settingsDriver) Complete(settings annotate.Settings, _ annotate.TopicRole, _ string) annotate.Settings {
	if s, ok := settings.(Settings); ok && s.Mode == "" {
		s.Mode = Update
		return s
	}
	return settings
}

// Default implements annotate.SettingsDriver: settings without an address.
func (settingsDriver) Default(annotate.TopicRole) annotate.Settings { return Settings{Mode: Update} }

// Check implements annotate.SettingsDriver.
func (d settingsDriver) Check(topic annotate.Topic, _ annotate.TopicRole) error {
	if _, ok := rdf.ValidIRI([]byte(topic.Name + "2")); !ok || isPrefixed(topic.Name) {
		return &annotate.FieldError{Field: "topic", Reason: fmt.Sprintf(
			"expected an absolute IRI that the identifiers of data sets begin with, such as https://example.org/weather/, got %.60q", topic.Name)}
	}
	if topic.Settings == nil {
		return &annotate.FieldError{Field: "ngsildSettings", Reason: "required, expected an object with url"}
	}
	s, ok := topic.Settings.(Settings)
	if !ok {
		return &annotate.FieldError{Field: "ngsildSettings", Reason: fmt.Sprintf("expected ngsild.Settings, got %T", topic.Settings)}
	}
	return annotate.Below("ngsildSettings", d.check(s))
}

// check returns an *annotate.FieldError for settings that no broker can have.
func (d settingsDriver) check(s Settings) error {
	if err := s.endpoint().Check(d.hosts); err != nil {
		return err
	}
	at, err := url.Parse(s.URL)
	switch {
	case err != nil || at.RawQuery != "" || at.ForceQuery:
		return &annotate.FieldError{Field: "url", Reason: "has a query; leave it out"}
	case strings.HasSuffix(strings.TrimRight(at.Path, "/"), "/ngsi-ld/v1"):
		return &annotate.FieldError{Field: "url", Reason: "ends with /ngsi-ld/v1, which is added; leave it out"}
	case s.Mode != Update && s.Mode != Replace:
		return &annotate.FieldError{Field: "mode", Reason: fmt.Sprintf("expected one of replace, update, got %q", s.Mode)}
	case len(s.Tenant) > maxTenant || strings.ContainsFunc(s.Tenant, func(c rune) bool { return c <= ' ' || c > '~' }):
		return &annotate.FieldError{Field: "tenant", Reason: fmt.Sprintf(
			"expected at most %d printable ASCII characters without spaces, got %.60q", maxTenant, s.Tenant)}
	}
	if s.Context == "" {
		return nil
	}
	switch context, err := httpclient.BaseURL(s.Context); {
	case err != nil:
		return &annotate.FieldError{Field: "context", Reason: err.Error()}
	case context.User != nil:
		return &annotate.FieldError{Field: "context", Reason: "has a user, which every reader of the channel would see; leave it out"}
	}
	if _, ok := rdf.ValidIRI([]byte(s.Context)); !ok {
		return &annotate.FieldError{Field: "context", Reason: "expected an address without spaces and <>\"{}|^`\\"}
	}
	return nil
}

// Fields implements annotate.FormDriver.
func (settingsDriver) Fields(annotate.TopicRole) []annotate.Field {
	return []annotate.Field{
		{Member: "url", Title: "Address of the broker"},
		{Member: "tenant", Title: "Tenant", Hint: "none"},
		{Member: "context", Title: "Address of the @context", Hint: "the core @context"},
		{Member: "mode", Title: "Attributes that a message does not have", Choices: []string{Update, Replace}},
	}
}
