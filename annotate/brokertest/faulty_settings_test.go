package brokertest_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/brokertest"
	"github.com/iotenablers/enablers/annotate/mqtt"
)

// faultySettings is the settings driver of MQTT with some of its methods replaced.
type faultySettings struct {
	annotate.SettingsDriver
	read     func([]byte) (annotate.Settings, error)
	complete func(annotate.Settings) annotate.Settings
	check    func() error
}

func (f faultySettings) Read(object []byte) (annotate.Settings, error) {
	if f.read != nil {
		return f.read(object)
	}
	return f.SettingsDriver.Read(object)
}

func (f faultySettings) Complete(s annotate.Settings, role annotate.TopicRole, channel string) annotate.Settings {
	if f.complete != nil {
		return f.complete(s)
	}
	return f.SettingsDriver.Complete(s, role, channel)
}

func (f faultySettings) Check(topic annotate.Topic, role annotate.TopicRole) error {
	if f.check != nil {
		return f.check()
	}
	return f.SettingsDriver.Check(topic, role)
}

// shown are settings that show their password.
type shown struct{ mqtt.Settings }

func (s shown) String() string { return s.User + ":" + s.Password }

func (s shown) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	return shown{s.Settings.WithSecrets(secrets).(mqtt.Settings)}
}

// careless are settings whose secrets go with them to any address.
type careless struct{ mqtt.Settings }

func (careless) Destination() string { return "" }

func (s careless) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	return careless{s.Settings.WithSecrets(secrets).(mqtt.Settings)}
}

// silent are settings that do not say where their secrets go.
type silent struct{ annotate.Settings }

func (s silent) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	return silent{s.Settings.WithSecrets(secrets)}
}

// anxious are settings whose secrets stay with nothing.
type anxious struct{ mqtt.Settings }

func (s anxious) Destination() string { return s.Settings.Destination() + s.Version }

func (s anxious) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	return anxious{s.Settings.WithSecrets(secrets).(mqtt.Settings)}
}

func TestSettingsChecks_findFaultyDrivers(t *testing.T) {
	real := mqtt.Driver(nil, nil).Settings
	for about, c := range map[string]struct {
		driver faultySettings
		found  []string
	}{
		"reads anything": {
			faultySettings{read: func([]byte) (annotate.Settings, error) { return mqtt.Settings{}, nil }},
			[]string{"refusal", "secrets"},
		},
		"errors without a member": {
			faultySettings{read: func(object []byte) (annotate.Settings, error) {
				s, err := real.Read(object)
				if err != nil {
					err = errors.New("wrong")
				}
				return s, err
			}},
			[]string{"refusal"},
		},
		"completes nothing": {
			faultySettings{complete: func(s annotate.Settings) annotate.Settings { return s }},
			[]string{"completing"},
		},
		"checks nothing": {
			faultySettings{check: func() error { return nil }},
			[]string{"topics"},
		},
		"shows secrets": {
			faultySettings{read: func(object []byte) (annotate.Settings, error) {
				s, err := real.Read(object)
				if err != nil {
					return nil, err
				}
				return shown{s.(mqtt.Settings)}, nil
			}},
			[]string{"secrets"},
		},
		"sends secrets anywhere": {
			faultySettings{read: func(object []byte) (annotate.Settings, error) {
				s, err := real.Read(object)
				if err != nil {
					return nil, err
				}
				return careless{s.(mqtt.Settings)}, nil
			}},
			[]string{"destination"},
		},
		"forgets secrets": {
			faultySettings{read: func(object []byte) (annotate.Settings, error) {
				s, err := real.Read(object)
				if err != nil {
					return nil, err
				}
				return anxious{s.(mqtt.Settings)}, nil
			}},
			[]string{"destination"},
		},
		"says nothing of the destination": {
			faultySettings{read: func(object []byte) (annotate.Settings, error) {
				s, err := real.Read(object)
				if err != nil {
					return nil, err
				}
				return silent{s}, nil
			}},
			[]string{"destination"}, // for the members that are free
		},
	} {
		c.driver.SettingsDriver = real
		d := mqtt.Driver(nil, nil)
		d.Settings = c.driver
		h := brokertest.SettingsHarness{
			Driver: d, Topic: "t",
			Good: `{"protocol": "tcp", "host": "h", "port": 1, "version": "5", "clientId": "c", "user": "u", "password": "p"}`,
			Free: []string{"version", "clientId"},
			Bad:  map[string]string{"host": `{"protocol": "tcp", "port": 1}`},
		}
		var found []string
		for _, check := range brokertest.SettingsChecks() {
			if check.Run(h) != nil {
				found = append(found, check.Name)
			}
		}
		for _, name := range c.found {
			require.True(t, slices.Contains(found, name), "%s: %s is not found, but %v", about, name, found)
		}
	}
}
