package channelform

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate"
)

// Complete fills in the spare settings of a channel that is otherwise complete.
func (f Forms) Complete(c *Channel) {
	for _, topic := range c.Topics() {
		for _, d := range f.Drivers {
			if d.Type != topic.Broker {
				if s := d.Settings.Complete(c.SettingsOf(topic, d.Type), topic.Role, c.ID); s != nil {
					c.SetSettings(topic, d.Type, s)
				}
			}
		}
	}
}

// KeepSpare adds the settings that a channel had for other kinds of broker.
func (f Forms) KeepSpare(before Channel, next *Channel) {
	old := map[annotate.TopicRole]annotate.RoleTopic{}
	for _, topic := range before.Topics() {
		old[topic.Role] = topic
	}
	for _, topic := range next.Topics() {
		had, ok := old[topic.Role]
		if !ok {
			continue
		}
		for _, d := range f.Drivers {
			kept := before.SettingsOf(had, d.Type)
			if kept != nil && next.SettingsOf(topic, d.Type) == nil {
				next.SetSettings(topic, d.Type, kept)
			}
		}
		if spare := next.Spare[topic.Role]; spare.foreign == nil && before.Spare[topic.Role].foreign != nil {
			spare.foreign = before.Spare[topic.Role].foreign
			if next.Spare == nil {
				next.Spare = Spare{}
			}
			next.Spare[topic.Role] = spare
		}
	}
}

// KeepSecrets puts the secrets that a channel had in the place of masks. A secret is only sent
// to where it was meant for: with another destination it has to be given again.
func (f Forms) KeepSecrets(before Channel, next *Channel) error {
	for _, topic := range next.Topics() {
		for _, d := range f.Drivers {
			settings := next.SettingsOf(topic, d.Type)
			if settings == nil {
				continue
			}
			var had annotate.Settings
			for _, t := range before.Topics() {
				if t.Role == topic.Role {
					had = before.SettingsOf(t, d.Type)
				}
			}
			kept, err := unmask(settings, had)
			if err != nil {
				return annotate.Below(fmt.Sprintf("settings.%s.%s", topic.Role, d.Member), err)
			}
			next.SetSettings(topic, d.Type, kept)
		}
	}
	return nil
}

// unmask returns settings with the secrets of others in the place of masks. The other
// settings may be nil.
func unmask(settings, had annotate.Settings) (annotate.Settings, error) {
	old := map[string]string{}
	if had != nil {
		for _, secret := range had.Secrets() {
			old[secret.Member] = secret.Value
		}
	}
	secrets := settings.Secrets()
	for i, secret := range secrets {
		if secret.Value != annotate.Masked {
			continue
		}
		if had == nil || !annotate.SameDestination(had, settings) {
			return nil, &annotate.FieldError{Field: secret.Member,
				Reason: "was given for another address or for other settings of the connection; give it again"}
		}
		secrets[i].Value = old[secret.Member]
	}
	return settings.WithSecrets(secrets), nil
}

// HasSecrets reports whether settings have a secret.
func HasSecrets(s annotate.Settings) bool {
	for _, secret := range s.Secrets() {
		if secret.Value != "" {
			return true
		}
	}
	return false
}

// WithoutSecrets returns settings with empty secrets.
func WithoutSecrets(s annotate.Settings) annotate.Settings {
	secrets := s.Secrets()
	for i := range secrets {
		secrets[i].Value = ""
	}
	return s.WithSecrets(secrets)
}
