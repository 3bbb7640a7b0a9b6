package mqtt

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/members"
	"github.com/iotenablers/enablers/annotate/mqtt/internal/session"
)

// Driver is MQTT as a kind of broker of an annotate.Environment. The broker
// opens the connections: one created by [New], or another that reads
// [Settings]. defaults may be nil.
func Driver(broker annotate.Broker, defaults *Defaults) annotate.Driver {
	settings := settingsDriver{defaults: defaults.filled()}
	if b, ok := broker.(*Broker); ok && b != nil {
		settings.hosts = b.hosts
	}
	return annotate.Driver{
		Type: Type, Title: "MQTT", Member: "mqttSettings",
		Broker: broker, Settings: settings, Distributed: true,
	}
}

// settingsDriver is the annotate.SettingsDriver of MQTT.
type settingsDriver struct {
	defaults Defaults
	hosts    *annotate.BrokerHosts
}

// Read implements annotate.SettingsDriver.
func (settingsDriver) Read(object []byte) (annotate.Settings, error) {
	o, err := members.Parse(object)
	if err != nil {
		return nil, err
	}
	s := Settings{
		Protocol:  o.OneOf("protocol", "tcp", "mqtt", "ssl", "tls", "mqtts", "ws", "wss"),
		Host:      o.RequiredText("host"),
		Port:      o.RequiredInteger("port", 1, 65535),
		Version:   o.Choice("version", Version5, Version311),
		ClientID:  o.Text("clientId"),
		ShareName: o.Text("shareName"),
		User:      o.Text("user"),
		Password:  o.Text("password"),
	}
	return s, o.Err()
}

// Complete implements annotate.SettingsDriver.
func (d settingsDriver) Complete(
	settings annotate.Settings, role annotate.TopicRole, channel string,
) annotate.Settings {
	if settings == nil {
		settings = Settings{Protocol: d.defaults.Protocol, Host: d.defaults.Host, Port: d.defaults.Port}
	}
	s, ok := settings.(Settings)
	if !ok {
		return settings
	}
	if s.ClientID == "" {
		s.ClientID = newClientID(d.defaults.ClientIDs.prefix(role), channel)
	}
	return s
}

// newClientID keeps the last 23 characters, the most that every MQTT 3.1.1
// broker must accept; they come from the random part, so that no two are equal.
func newClientID(prefix, channel string) string {
	id := prefix + "/" + channel + strings.ReplaceAll(uuid.NewString(), "-", "")
	return id[len(id)-23:]
}

// Default implements annotate.SettingsDriver.
func (d settingsDriver) Default(role annotate.TopicRole) annotate.Settings {
	return Settings{
		Protocol: d.defaults.Protocol, Host: d.defaults.Host, Port: d.defaults.Port,
		ClientID: d.defaults.ClientIDs.prefix(role),
	}
}

// Describe returns further members of GET /settings: the prefixes of generated
// client identifiers.
func (d settingsDriver) Describe() map[string]any {
	return map[string]any{"mqttClientIdPrefixes": clientIDPrefixes(d.defaults.ClientIDs)}
}

type clientIDPrefixes struct {
	Input         string `json:"inputClientId"`
	Output        string `json:"outputClientId"`
	Error         string `json:"errorClientId"`
	MonitorInput  string `json:"mqttMonitorInputClientId"`
	MonitorOutput string `json:"mqttMonitorOutputClientId"`
}

// Check implements annotate.SettingsDriver.
func (d settingsDriver) Check(topic annotate.Topic, role annotate.TopicRole) error {
	isInput := role == annotate.InputTopic
	var reason string
	switch {
	case topic.Name == "":
		reason = "required, must not be empty"
	case len(topic.Name) > 65535 || !utf8.ValidString(topic.Name) || strings.ContainsRune(topic.Name, 0):
		reason = "expected UTF-8 text of at most 65535 bytes without NUL"
	case isInput:
		reason = filterReason(topic.Name)
	case strings.ContainsAny(topic.Name, "+#"):
		reason = fmt.Sprintf("only the input topic may have the wildcards + and #, got %q", topic.Name)
	}
	if reason != "" {
		return &annotate.FieldError{Field: "topic", Reason: reason}
	}
	s, ok := topic.Settings.(Settings)
	if !ok {
		return &annotate.FieldError{Field: "mqttSettings", Reason: fmt.Sprintf("expected mqtt.Settings, got %T", topic.Settings)}
	}
	if reason := shareNameReason(s.ShareName, topic.Name, isInput); reason != "" {
		return &annotate.FieldError{Field: "mqttSettings.shareName", Reason: reason}
	}
	return annotate.Below("mqttSettings", d.hosts.Check(s.Host, session.Settings(s).UsedPort()))
}

// shareNameReason returns what is wrong with a share name, by MQTT 5 section
// 4.8.2; it is empty when nothing is.
func shareNameReason(name, topic string, isInput bool) string {
	switch {
	case name == "":
		return ""
	case !isInput:
		return "only an input topic can be shared"
	case strings.ContainsAny(name, "/+#\x00") || !utf8.ValidString(name):
		return fmt.Sprintf("must not contain /, + or #, got %q", name)
	case strings.HasPrefix(topic, "$share/"):
		return "the topic has a share name already"
	}
	return ""
}

// filterReason returns what is wrong with a topic filter, by MQTT 5 section
// 4.7.1; it is empty when nothing is.
func filterReason(filter string) string {
	levels := strings.Split(filter, "/")
	for i, level := range levels {
		if (level == "#" && i == len(levels)-1) || level == "+" || !strings.ContainsAny(level, "+#") {
			continue
		}
		return fmt.Sprintf("a wildcard must stand alone between slashes and # at the end, got %q", filter)
	}
	return ""
}

// Distribute implements annotate.DistributedDriver: the subscription is shared
// under a name that all instances derive from the channel.
func (settingsDriver) Distribute(input annotate.Topic, channel string) annotate.Topic {
	s, ok := input.Settings.(Settings)
	if ok && s.ShareName == "" && !strings.HasPrefix(input.Name, "$share/") {
		s.ShareName = shareName(channel)
		input.Settings = s
	}
	return input
}

// shareName creates a share name from a channel's identifier. Characters that a
// share name cannot have (MQTT 5 section 4.8.2) are replaced, and the hash of
// the identifier keeps names apart that become alike.
func shareName(id string) string {
	name := strings.NewReplacer("/", "_", "+", "_", "#", "_").Replace(id)
	if name == id {
		return name
	}
	return fmt.Sprintf("%s_%.4x", name, sha256.Sum256([]byte(id)))
}

// Trial implements annotate.TrialDriver: a session of its own, which shares no messages.
func (d settingsDriver) Trial(topic annotate.Topic, role annotate.TopicRole) annotate.Topic {
	if s, ok := topic.Settings.(Settings); ok {
		s.ClientID, s.ShareName = newClientID(d.defaults.ClientIDs.prefix(role), "trial"), ""
		topic.Settings = s
	}
	if shared, ok := strings.CutPrefix(topic.Name, "$share/"); ok {
		_, topic.Name, _ = strings.Cut(shared, "/")
	}
	return topic
}

// Fields implements annotate.FormDriver.
func (settingsDriver) Fields(role annotate.TopicRole) []annotate.Field {
	fields := []annotate.Field{
		{Member: "protocol", Title: "Protocol", Choices: []string{"tcp", "tls"}},
		{Member: "host", Title: "Host"},
		{Member: "port", Title: "Port", IsNumber: true},
		{Member: "version", Title: "Version of MQTT", Choices: []string{Version5, Version311}, Hint: "5, else 3.1.1"},
		{Member: "clientId", Title: "Client identifier", IsOwn: true, Hint: "generated"},
	}
	if role == annotate.InputTopic {
		fields = append(fields, annotate.Field{Member: "shareName", Title: "Shared as", IsOwn: true, Hint: "not shared"})
	}
	return fields
}
