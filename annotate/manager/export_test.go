package manager

import (
	"encoding/json"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/history"
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

// Measured returns the plots after measurements of channels, each one step after the one
// before.
func Measured(measurements ...map[string]annotate.Stats) history.Plot {
	now := time.Unix(1_000_000_000, 0)
	g := gauge{store: history.New(&history.Options{Clock: func() time.Time { return now }})}
	for _, all := range measurements {
		g.measure(all)
		now = now.Add(history.Step)
	}
	return g.store.Query("", "10m")
}
