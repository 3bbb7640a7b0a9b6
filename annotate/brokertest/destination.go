package brokertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/iotenablers/enablers/annotate"
)

// settingsDestination changes one member after the other.
func settingsDestination(h SettingsHarness) error {
	good, err := h.Driver.Settings.Read([]byte(h.Good))
	if err != nil {
		return fmt.Errorf("the Read of the good settings failed: %w", err)
	}
	secrets := good.Secrets()
	if len(secrets) == 0 {
		return nil
	}
	for i := range secrets {
		secrets[i].Value = annotate.Masked
	}
	if !annotate.SameDestination(good, good.WithSecrets(secrets)) {
		return fmt.Errorf("with other secrets the destination of %v is another one", good)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(h.Good)))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		return fmt.Errorf("the good settings are not a JSON object: %w", err)
	}
	for _, secret := range secrets {
		delete(members, secret.Member)
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		changed, err := h.withAnother(name, members)
		if err != nil {
			return err
		}
		switch free, same := slices.Contains(h.Free, name), annotate.SameDestination(good, changed); {
		case same && !free:
			return fmt.Errorf("secrets stay when the member %q of %v becomes that of %v", name, good, changed)
		case !same && free:
			return fmt.Errorf("the destination is another one with another member %q, which is free: %v and %v", name, good, changed)
		}
	}
	return nil
}

// withAnother returns the good settings with another value of a member.
func (h SettingsHarness) withAnother(name string, members map[string]any) (annotate.Settings, error) {
	var others []any
	switch value := members[name].(type) {
	case string:
		others = []any{value + "x"}
	case json.Number:
		others = []any{json.Number(value.String() + "1"), 1}
	case bool:
		others = []any{!value}
	}
	for _, role := range roles() {
		if form, ok := h.Driver.Settings.(annotate.FormDriver); ok {
			for _, field := range form.Fields(role) {
				if field.Member == name {
					others = append(others, anys(field.Choices)...)
				}
			}
		}
	}
	object := maps.Clone(members)
	for _, other := range others {
		object[name] = other
		text, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if s, err := h.Driver.Settings.Read(text); err == nil && fmt.Sprint(other) != fmt.Sprint(members[name]) {
			return s, nil
		}
	}
	return nil, fmt.Errorf("the Read accepts no other value of the member %q that the suite knows; "+
		"list its values as choices in annotate.FormDriver", name)
}

func anys(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}
