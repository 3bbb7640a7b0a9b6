package brokertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/iotenablers/enablers/annotate"
)

// SettingsHarness is the settings driver under test and what the suite has to
// know about it.
type SettingsHarness struct {
	// Driver is the kind of broker; its Broker may be nil. Required.
	Driver annotate.Driver
	// Topic is the name of a topic that the driver accepts as input and as
	// output; required.
	Topic string
	// Good is a JSON object with settings in which every member is set, the
	// secrets among them; required.
	Good string
	// Checked are settings that Check accepts, where it refuses the good ones because some of
	// their members exclude each other. Empty means the good ones.
	Checked string
	// Bad are JSON objects that must be refused, by the member that is wrong.
	Bad map[string]string
	// Free are the members with which the destination of the secrets stays the same, such as the
	// name of a subscription. Every other member that is not secret is a part of the destination.
	Free []string
}

// SettingsCheck is one rule of annotate.SettingsDriver and the experiment that
// tests it.
type SettingsCheck struct {
	// Name is a few words, usable as a test's name.
	Name string
	// Rule describes what has to hold.
	Rule string

	experiment func(SettingsHarness) error
}

// Settings tests every rule of annotate.SettingsDriver and annotate.Settings.
func Settings(t *testing.T, h SettingsHarness) {
	t.Helper()
	for _, c := range SettingsChecks() {
		t.Run(c.Name, func(t *testing.T) {
			if err := c.Run(h); err != nil {
				t.Error(err)
			}
		})
	}
}

// Run does the experiment. The error names the rule.
func (c SettingsCheck) Run(h SettingsHarness) error {
	if err := c.experiment(h); err != nil {
		return fmt.Errorf("%s: the rule is: %s But %w", c.Name, c.Rule, err)
	}
	return nil
}

// SettingsChecks returns the rules, in an order in which they can be read.
func SettingsChecks() []SettingsCheck {
	return []SettingsCheck{
		{
			Name:       "reading",
			Rule:       "Read reads what MarshalJSON writes, the same each time, and ignores members that it does not know.",
			experiment: settingsRead,
		},
		{
			Name:       "refusal",
			Rule:       "Read refuses wrong settings with an annotate.FieldError that names the member.",
			experiment: settingsRefused,
		},
		{
			Name:       "completing",
			Rule:       "Complete makes settings of none (but for an output only) and of read ones that Check accepts, and changes them no further.",
			experiment: settingsComplete,
		},
		{
			Name:       "secrets",
			Rule:       "secrets are in neither JSON nor text, are replaced by WithSecrets, and the rest stays.",
			experiment: settingsSecrets,
		},
		{
			Name: "destination",
			Rule: "secrets have another destination (annotate.SameDestination) as soon as a member differs that is neither secret " +
				"nor listed as free, and the same one otherwise.",
			experiment: settingsDestination,
		},
		{
			Name:       "topics",
			Rule:       "Check refuses an empty topic and settings of another type with an annotate.FieldError.",
			experiment: settingsChecked,
		},
		{
			Name:       "defaults",
			Rule:       "Default returns settings for every topic of a channel.",
			experiment: settingsDefault,
		},
	}
}

// roles are all topics of a channel.
func roles() []annotate.TopicRole {
	return []annotate.TopicRole{
		annotate.InputTopic, annotate.OutputTopic, annotate.MonitorInputTopic, annotate.MonitorOutputTopic, annotate.ErrorTopic,
	}
}

func settingsRead(h SettingsHarness) error {
	s, err := h.Driver.Settings.Read([]byte(h.Good))
	if err != nil {
		return fmt.Errorf("the Read of the good settings failed: %w", err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("the MarshalJSON failed: %w", err)
	}
	again, err := h.Driver.Settings.Read(bytes.Replace(text, []byte("{"), []byte(`{"brokertest":[],`), 1))
	if err != nil {
		return fmt.Errorf("the Read of %s failed: %w", text, err)
	}
	if twice, err := json.Marshal(again); err != nil || !bytes.Equal(text, twice) {
		return fmt.Errorf("%s was read as %s (error %w)", text, twice, errOrNil{err})
	}
	return nil
}

func settingsRefused(h SettingsHarness) error {
	for member, text := range h.Bad {
		_, err := h.Driver.Settings.Read([]byte(text))
		var field *annotate.FieldError
		if !errors.As(err, &field) {
			return fmt.Errorf("the Read of %s returned %w", text, errOrNil{err})
		}
		if field.Field != member {
			return fmt.Errorf("the Read of %s named the member %q instead of %q", text, field.Field, member)
		}
	}
	return nil
}

func settingsComplete(h SettingsHarness) error {
	good, err := h.Driver.Settings.Read([]byte(cmp.Or(h.Checked, h.Good)))
	if err != nil {
		return fmt.Errorf("the Read of the good settings failed: %w", err)
	}
	for _, role := range roles() {
		settings := []annotate.Settings{nil}
		switch {
		case h.Driver.OutputOnly && role != annotate.OutputTopic:
			continue
		case h.Driver.OutputOnly:
			if complete := h.Driver.Settings.Complete(nil, role, "channel"); complete != nil {
				return fmt.Errorf("the Complete of nil for the %v of an output only returned %v", role, complete)
			}
			settings = []annotate.Settings{good}
		case role == annotate.InputTopic:
			settings = append(settings, good)
		}
		for _, s := range settings {
			complete := h.Driver.Settings.Complete(s, role, "channel")
			if complete == nil {
				return fmt.Errorf("the Complete of %v for the %v returned nil", s, role)
			}
			if again := h.Driver.Settings.Complete(complete, role, "channel"); again.String() != complete.String() {
				return fmt.Errorf("the second Complete for the %v made %v out of %v", role, again, complete)
			}
			topic := annotate.Topic{Name: h.Topic, Broker: h.Driver.Type, Settings: complete}
			if err := h.Driver.Settings.Check(topic, role); err != nil {
				return fmt.Errorf("the Check of complete settings for the %v failed: %w", role, err)
			}
		}
	}
	return nil
}

func settingsSecrets(h SettingsHarness) error {
	const word = "s3cret-of-brokertest"
	s, err := h.Driver.Settings.Read([]byte(h.Good))
	if err != nil {
		return fmt.Errorf("the Read of the good settings failed: %w", err)
	}
	shown, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("the MarshalJSON failed: %w", err)
	}
	secrets := s.Secrets()
	for i, secret := range secrets {
		if secret.Value == "" {
			return fmt.Errorf("the good settings do not set the secret %q", secret.Member)
		}
		secrets[i].Value = word
	}
	changed := s.WithSecrets(secrets)
	for _, secret := range changed.Secrets() {
		if secret.Value != word {
			return fmt.Errorf("the secret %q was not replaced", secret.Member)
		}
	}
	text, err := json.Marshal(changed)
	if err != nil {
		return fmt.Errorf("the MarshalJSON failed: %w", err)
	}
	for _, place := range []string{string(text), changed.String(), fmt.Sprintf("%v %+v %#v", changed, changed, changed)} {
		if bytes.Contains([]byte(place), []byte(word)) {
			return fmt.Errorf("a secret is shown: %s", place)
		}
	}
	if !bytes.Equal(text, shown) {
		return fmt.Errorf("with other secrets the settings are shown as %s instead of %s", text, shown)
	}
	return nil
}

// foreign are settings of another kind of broker.
type foreign struct{ annotate.MemorySettings }

func settingsChecked(h SettingsHarness) error {
	complete := h.Driver.Settings.Complete(nil, annotate.InputTopic, "channel")
	for about, topic := range map[string]annotate.Topic{
		"a topic without a name":           {Broker: h.Driver.Type, Settings: complete},
		"a topic with settings of another": {Name: h.Topic, Broker: h.Driver.Type, Settings: foreign{}},
		"a topic without settings":         {Name: h.Topic, Broker: h.Driver.Type},
	} {
		err := h.Driver.Settings.Check(topic, annotate.InputTopic)
		var field *annotate.FieldError
		if !errors.As(err, &field) {
			return fmt.Errorf("the Check of %s returned %w", about, errOrNil{err})
		}
	}
	return nil
}

func settingsDefault(h SettingsHarness) error {
	for _, role := range roles() {
		s := h.Driver.Settings.Default(role)
		if s == nil {
			return fmt.Errorf("the Default for the %v is nil", role)
		}
		if _, err := json.Marshal(s); err != nil {
			return fmt.Errorf("the Default for the %v cannot be shown: %w", role, err)
		}
	}
	return nil
}
