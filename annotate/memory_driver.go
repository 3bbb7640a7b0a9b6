package annotate

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Memory is the kind of broker of [MemoryDriver].
const Memory BrokerType = "MEMORY"

// MemorySettings are the settings of a topic of a [MemoryBroker].
type MemorySettings struct {
	// Name is the name of the subscription. Empty means that the subscription
	// ends with its connection; the driver generates one for a channel.
	Name string `json:"name,omitempty"`
}

// MarshalJSON implements Settings.
func (s MemorySettings) MarshalJSON() ([]byte, error) {
	type plain MemorySettings
	return json.Marshal(plain(s))
}

// String implements Settings.
func (s MemorySettings) String() string { return fmt.Sprintf("memory (subscription %q)", s.Name) }

// Subscriber implements Settings.
func (s MemorySettings) Subscriber() string { return s.Name }

// Secrets implements Settings: there are none.
func (s MemorySettings) Secrets() []Secret { return nil }

// WithSecrets implements Settings.
func (s MemorySettings) WithSecrets([]Secret) Settings { return s }

// MemoryDriver is the kind of broker of a [MemoryBroker].
func MemoryDriver(b *MemoryBroker) Driver {
	return Driver{
		Type: Memory, Title: "the in-memory broker", Member: "memorySettings",
		Broker: b, Settings: memorySettingsDriver{}, ExactlyOnce: true,
	}
}

// memorySettingsDriver is the SettingsDriver of a MemoryBroker.
type memorySettingsDriver struct{}

// Read implements SettingsDriver.
func (memorySettingsDriver) Read(object []byte) (Settings, error) {
	var s MemorySettings
	type plain MemorySettings
	if err := json.Unmarshal(object, (*plain)(&s)); err != nil {
		return nil, &FieldError{"name", "expected a string"}
	}
	return s, nil
}

// Complete implements SettingsDriver.
func (memorySettingsDriver) Complete(settings Settings, role TopicRole, channel string) Settings {
	if settings == nil {
		settings = MemorySettings{}
	}
	s, ok := settings.(MemorySettings)
	if ok && s.Name == "" && role == InputTopic {
		s.Name = channel
		return s
	}
	return settings
}

// Check implements SettingsDriver.
func (memorySettingsDriver) Check(topic Topic, role TopicRole) error {
	if _, ok := topic.Settings.(MemorySettings); !ok {
		return &FieldError{"memorySettings", fmt.Sprintf("expected annotate.MemorySettings, got %T", topic.Settings)}
	}
	if topic.Name == "" {
		return &FieldError{"topic", "required, must not be empty"}
	}
	if role != InputTopic && strings.ContainsAny(topic.Name, "+#") {
		return &FieldError{"topic", fmt.Sprintf("only the input topic may have the wildcards + and #, got %q", topic.Name)}
	}
	return nil
}

// Default implements SettingsDriver.
func (memorySettingsDriver) Default(TopicRole) Settings { return MemorySettings{} }

// Trial implements TrialDriver: the subscription ends with its connection.
func (memorySettingsDriver) Trial(topic Topic, _ TopicRole) Topic {
	topic.Settings = MemorySettings{}
	return topic
}

// Fields implements FormDriver: there is nothing to set.
func (memorySettingsDriver) Fields(TopicRole) []Field { return nil }
