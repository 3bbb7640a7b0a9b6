package manager

import (
	"encoding/json"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// RoutesAndDocument are what the REST interface is held to.
func RoutesAndDocument(m *Manager) ([]httpapi.Route, []byte) {
	return newREST(m, nil).routes(), openapi
}

// The JSON forms, whose members the OpenAPI document has.
type (
	SettingsForm = settingsForm
	StatusForm   = statusForm
	MappingForm  = mappingMembers
)

// Read reads a channel as clients send it.
func Read(drivers []annotate.Driver, data []byte) (ChannelConfig, error) {
	c, _, err := newForms(drivers).read(data)
	return c, err
}

// Show returns the form of a channel as clients see it.
func Show(drivers []annotate.Driver, c ChannelConfig) ([]byte, error) {
	return json.Marshal(channelForm{
		newForms(drivers).settings(c), metadataOf(c, true),
		statusOf(&c.ChannelConfig, Status{Stopped: c.Stopped, Off: c.Off}),
	})
}

// DecodeUpdate reads the body of a PATCH.
func DecodeUpdate(data []byte) (update Update, empty bool, err error) { return decodeUpdate(data) }

// Spare returns the settings of a topic for a kind of broker that is not its own.
func Spare(c Channel, role annotate.TopicRole, kind annotate.BrokerType) annotate.Settings {
	return c.spare[role].settings[kind]
}

// ReadTrial reads the request of the workbench.
func ReadTrial(data []byte) (string, error) {
	request, err := readTrial(data)
	return request.Mapping, err
}
