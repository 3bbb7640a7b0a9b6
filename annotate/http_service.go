package annotate

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

func (r *rest) version(w http.ResponseWriter, _ *http.Request) error {
	return httpapi.WriteJSON(w, map[string]string{"name": r.options.Name, "version": r.options.Version})
}

// status answers the state of the service as a whole. A channel that failed
// is no failure of the service, so it changes only the error text.
func (r *rest) status(w http.ResponseWriter, _ *http.Request) error {
	answer := struct {
		Status string `json:"status"`
		Error  string `json:"error,omitempty"`
	}{Status: "INITIALIZED"}
	switch err := r.manager.Ready(); {
	case errors.Is(err, ErrNotRunning):
		answer.Status = "INITIALIZING"
	case err != nil:
		answer.Status, answer.Error = "CRITICAL_ERROR", err.Error()
	default:
		answer.Error = cmp.Or(r.manager.storageFault(), r.channelErrors())
	}
	return httpapi.WriteJSON(w, answer)
}

// channelErrors sums up what is wrong with channels; empty when nothing is.
func (r *rest) channelErrors() string {
	failed, first := 0, ""
	for _, config := range r.manager.List() {
		if config.Status.Error == "" {
			continue
		}
		if failed == 0 {
			first = fmt.Sprintf("channel %q: %s", config.Settings.ChannelID, config.Status.Error)
		}
		failed++
	}
	if failed > 1 {
		return fmt.Sprintf("%s (and %d more channels with errors)", first, failed-1)
	}
	return first
}

// brokerGroups are the defaults of each kind of topic.
type brokerGroups[T any] struct {
	Input         T `json:"inputTopicBrokerSettings"`
	Output        T `json:"outputTopicBrokerSettings"`
	MonitorInput  T `json:"monitorInputTopicBrokerSettings"`
	MonitorOutput T `json:"monitorOutputTopicBrokerSettings"`
	Error         T `json:"errorTopicBrokerSettings"`
}

type clientIDPrefixes struct {
	Input         string `json:"inputClientId"`
	Output        string `json:"outputClientId"`
	Error         string `json:"errorClientId"`
	MonitorInput  string `json:"mqttMonitorInputClientId"`
	MonitorOutput string `json:"mqttMonitorOutputClientId"`
}

type settingsView struct {
	Kafka            brokerGroups[KafkaSettings] `json:"kafkaSettings"`
	MQTT             brokerGroups[MQTTSettings]  `json:"mqttSettings"`
	MaxShutdown      string                      `json:"maxShutdownDuration"`
	Parallelism      int                         `json:"parallelism"`
	BufferSize       int                         `json:"bufferSize"`
	StandaloneMode   bool                        `json:"standaloneMode"`
	RestoreStopped   bool                        `json:"restoreChannelsStopped"`
	Instance         string                      `json:"instance,omitempty"`
	DatabaseHost     string                      `json:"mongoHost,omitempty"`
	DatabasePort     int                         `json:"mongoPort,omitempty"`
	ClientIDPrefixes clientIDPrefixes            `json:"mqttClientIdPrefixes"`
}

func (r *rest) settings(w http.ResponseWriter, _ *http.Request) error {
	config := &r.manager.config
	d := config.Defaults
	kafka := KafkaSettings{Host: d.KafkaHost, Port: d.KafkaPort}
	mqtt := func(clientID string) MQTTSettings {
		return MQTTSettings{Protocol: d.MQTTProtocol, Host: d.MQTTHost, Port: d.MQTTPort, ClientID: clientID}
	}
	return httpapi.WriteJSON(w, settingsView{
		Kafka: brokerGroups[KafkaSettings]{kafka, kafka, kafka, kafka, kafka},
		MQTT: brokerGroups[MQTTSettings]{
			Input: mqtt(d.ClientIDs.Input), Output: mqtt(d.ClientIDs.Output), Error: mqtt(d.ClientIDs.Error),
			MonitorInput: mqtt(d.ClientIDs.MonitorInput), MonitorOutput: mqtt(d.ClientIDs.MonitorOutput),
		},
		MaxShutdown:    inSeconds(config.MaxShutdown),
		Parallelism:    d.Parallelism,
		BufferSize:     d.BufferSize,
		StandaloneMode: config.Documents == nil,
		RestoreStopped: config.RestoreStopped,
		Instance:       r.manager.instance(),
		DatabaseHost:   r.options.DatabaseHost,
		DatabasePort:   r.options.DatabasePort,
		ClientIDPrefixes: clientIDPrefixes{
			d.ClientIDs.Input, d.ClientIDs.Output, d.ClientIDs.Error, d.ClientIDs.MonitorInput, d.ClientIDs.MonitorOutput,
		},
	})
}

func inSeconds(d time.Duration) string {
	if d%time.Second != 0 {
		return d.String()
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}
