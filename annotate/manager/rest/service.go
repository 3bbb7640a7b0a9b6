package rest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func (r *rest) version(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.WriteJSON(w, map[string]string{"name": r.options.Name, "version": r.options.Version})
}

// status answers the state of the service as a whole. A channel that failed is
// not a failure of the service, so it changes only the error text.
func (r *rest) status(w http.ResponseWriter, _ *http.Request) error {
	answer := struct {
		Status string `json:"status"`
		Error  string `json:"error,omitempty"`
	}{Status: "INITIALIZED"}
	switch err := r.manager.Err(); {
	case errors.Is(err, manager.ErrNotRunning):
		answer.Status = "INITIALIZING"
	case err != nil:
		answer.Status, answer.Error = "CRITICAL_ERROR", err.Error()
	default:
		answer.Error = cmp.Or(r.storageFault(), r.channelErrors())
	}
	return httpapi.WriteJSON(w, answer)
}

// storageFault is the reason why a shared storage cannot be read; empty when it can, or is
// not shared.
func (r *rest) storageFault() string {
	if err := r.manager.StorageErr(); err != nil {
		return "storage: " + err.Error()
	}
	return ""
}

// channelErrors sums up what is wrong with channels; empty when nothing is.
func (r *rest) channelErrors() string {
	failed, first := 0, ""
	for c := range r.manager.All() {
		if c.Status.Error == "" {
			continue
		}
		if failed == 0 {
			first = fmt.Sprintf("channel %q: %s", c.ID, c.Status.Error)
		}
		failed++
	}
	if failed > 1 {
		return fmt.Sprintf("%s (and %d more channels with errors)", first, failed-1)
	}
	return first
}

// brokerGroup are the settings of topics without settings, for one kind of
// broker.
type brokerGroup struct {
	Input         annotate.Settings `json:"inputTopicBrokerSettings"`
	Output        annotate.Settings `json:"outputTopicBrokerSettings"`
	MonitorInput  annotate.Settings `json:"monitorInputTopicBrokerSettings"`
	MonitorOutput annotate.Settings `json:"monitorOutputTopicBrokerSettings"`
	Error         annotate.Settings `json:"errorTopicBrokerSettings"`
}

// serviceSettings are the members of GET /settings that every service has.
type serviceSettings struct {
	MaxShutdown    string `json:"maxShutdownDuration"`
	Parallelism    int    `json:"parallelism"`
	BufferSize     int    `json:"bufferSize"`
	StandaloneMode bool   `json:"standaloneMode"`
	RestoreStopped bool   `json:"restoreChannelsStopped"`
	Instance       string `json:"instance,omitempty"`
	DatabaseHost   string `json:"mongoHost"` // empty without a database, but there, as clients expect
	DatabasePort   int    `json:"mongoPort"`
}

// describer is an annotate.SettingsDriver that has further members of GET
// /settings, by name.
type describer interface{ Describe() map[string]any }

func (r *rest) settings(w http.ResponseWriter, _ *http.Request) error {
	config := r.manager.Config()
	instance := "" // without others
	if config.Shared && config.Documents != nil {
		instance = config.Instance
	}
	answer := &channelform.Object{}
	for _, d := range r.forms.Sorted {
		if d.OutputOnly {
			continue // such a topic always has settings
		}
		of := d.Settings.Default
		answer.Add(d.Member, brokerGroup{
			Input: of(annotate.InputTopic), Output: of(annotate.OutputTopic), Error: of(annotate.ErrorTopic),
			MonitorInput: of(annotate.MonitorInputTopic), MonitorOutput: of(annotate.MonitorOutputTopic),
		})
	}
	answer.AddMembers(serviceSettings{
		MaxShutdown:    inSeconds(config.MaxShutdown),
		Parallelism:    config.Defaults.Parallelism,
		BufferSize:     config.Defaults.BufferSize,
		StandaloneMode: config.Documents == nil,
		RestoreStopped: config.RestoreStopped,
		Instance:       instance,
		DatabaseHost:   r.options.DatabaseHost,
		DatabasePort:   r.options.DatabasePort,
	})
	for _, d := range r.forms.Sorted {
		if described, ok := d.Settings.(describer); ok {
			further := described.Describe()
			for _, name := range slices.Sorted(maps.Keys(further)) {
				answer.Add(name, further[name])
			}
		}
	}
	return httpapi.WriteJSON(w, answer)
}

func inSeconds(d time.Duration) string {
	if d%time.Second != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}
