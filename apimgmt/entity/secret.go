package entity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Redaction stands where a secret was.
const Redaction = "[redacted]"

// Redacted returns a copy in which no secret is left: every key of a consumer,
// and every member of a plugin's configuration that [IsSecret] by its name, is
// [Redaction]. References to a vault, such as {vault://env/secret}, stay.
func (c Config) Redacted() Config {
	made := c.Clone()
	for i := range made.Plugins {
		made.Plugins[i].Config = RedactConfig(made.Plugins[i].Config)
	}
	for i := range made.Keys {
		if made.Keys[i].Key != "" && !isVault(made.Keys[i].Key) {
			made.Keys[i].Key = Redaction
		}
	}
	return made
}

// secretName are the names of members that hold secrets, "-" and " " being "_".
var secretName = regexp.MustCompile(
	`(^|_)(secrets?|passwords?|passwd|passphrase|private_key|api_?keys?|access_key|secret_key|account_key|` +
		`client_jwk|jwks?|credentials?|authorization|tokens?)$|^(keys?|pass|psk|users_?passwords?)$|^(x_)?(auth|access)_token$`)

// IsSecret reports whether a member of that name holds a secret: client_secret,
// session_secret, password, token, key, Authorization and their like. Names of
// where a secret is to be found, such as key_names, are none.
func IsSecret(name string) bool {
	return secretName.MatchString(strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(name)))
}

func isVault(text string) bool {
	return strings.HasPrefix(text, "{vault://") && strings.HasSuffix(text, "}")
}

// RedactConfig returns the configuration of a plugin with [Redaction] in place of
// secrets: in members that [IsSecret], in strings such as "Authorization: …" and in
// addresses with a password. What is not JSON becomes null.
func RedactConfig(config json.RawMessage) json.RawMessage {
	if len(config) == 0 {
		return nil
	}
	value, err := decodeNumbers(config)
	if err != nil {
		return json.RawMessage("null")
	}
	made, err := json.Marshal(redact(value, false))
	if err != nil {
		return json.RawMessage("null")
	}
	return made
}

func redact(value any, secret bool) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = redact(member, secret || IsSecret(name))
		}
	case []any:
		for i := range v {
			v[i] = redact(v[i], secret)
		}
	case string:
		if secret {
			if v == "" || isVault(v) {
				return v
			}
			return Redaction
		}
		return RedactText(v)
	case json.Number:
		if secret {
			return Redaction
		}
	}
	return value
}

// userinfo is the password of an address.
var userinfo = regexp.MustCompile(`(://[^/?#\s:@]*):[^/?#\s]*@`)

// RedactText replaces what is secret in a string that is none as a whole: the value of a
// header line whose name [IsSecret], and the password of an address.
func RedactText(text string) string {
	if name, value, ok := strings.Cut(text, ":"); ok && value != "" && !strings.HasPrefix(value, "//") {
		if name := strings.ToLower(strings.TrimSpace(name)); !IsSecret(name) && name != "cookie" && name != "set-cookie" {
			return userinfo.ReplaceAllString(text, "$1:"+Redaction+"@")
		}
		return name + ":" + Redaction
	}
	return userinfo.ReplaceAllString(text, "$1:"+Redaction+"@")
}

// KeepSecrets returns the configuration of a plugin in which every [Redaction] is
// replaced by the secret that stands at the same place of an older one, so that
// what was shown without secrets can be changed and sent back. One that stands
// where the older configuration has nothing, or has a list of another length, is
// an error that wraps [ErrInvalid] and names the place.
func KeepSecrets(config, older json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(config, []byte(Redaction)) {
		return config, nil
	}
	value, err := decodeNumbers(config)
	if err != nil {
		return nil, fmt.Errorf("keep secrets: %w", err)
	}
	var old any
	if len(older) > 0 {
		if old, err = decodeNumbers(older); err != nil {
			return nil, fmt.Errorf("keep secrets of the older configuration: %w", err)
		}
	}
	kept, err := keep(value, old, "config")
	if err != nil {
		return nil, err
	}
	return json.Marshal(kept)
}

func keep(value, old any, place string) (any, error) {
	switch v := value.(type) {
	case map[string]any:
		before, _ := old.(map[string]any)
		for name, member := range v {
			kept, err := keep(member, before[name], place+"."+name)
			if err != nil {
				return nil, err
			}
			v[name] = kept
		}
	case []any:
		before, _ := old.([]any)
		if len(before) != len(v) {
			before = make([]any, len(v))
		}
		for i := range v {
			kept, err := keep(v[i], before[i], indexed(place, i))
			if err != nil {
				return nil, err
			}
			v[i] = kept
		}
	case string:
		if !strings.Contains(v, Redaction) {
			return v, nil
		}
		if v == Redaction && old != nil {
			return old, nil
		}
		if was, ok := old.(string); ok && RedactText(was) == v {
			return was, nil
		}
		return nil, &FieldError{Kind: KindPlugin, Field: place, Reason: "the secret is redacted, and there is no older one to keep"}
	}
	return value, nil
}

// KeepSecrets returns a copy of the configuration in which every [Redaction] of a
// plugin or a key is the secret that the entity with the same id, and the same
// kind of plugin, has in an older configuration. Both are normalised. Who may
// change the rest of a plugin may have it send the secret somewhere else: keeping
// it is for those who could have written it.
func (c Config) KeepSecrets(older Config) (Config, error) {
	made := c.Clone()
	plugins, keys := map[string]json.RawMessage{}, map[string]string{}
	for _, e := range older.Plugins {
		plugins[e.ID+e.Name] = e.Config
	}
	for _, e := range older.Keys {
		keys[e.ID] = e.Key
	}
	p := &problems{}
	for i := range made.Plugins {
		e := &made.Plugins[i]
		kept, err := KeepSecrets(e.Config, plugins[e.ID+e.Name])
		if err != nil {
			subject{problems: p, kind: KindPlugin, id: e.ID, name: e.Name}.failf("config", "%v", err)
			continue
		}
		e.Config = kept
	}
	for i := range made.Keys {
		e := &made.Keys[i]
		if e.Key != Redaction {
			continue
		}
		if e.Key = cmp.Or(keys[e.ID], Redaction); e.Key == Redaction {
			subject{problems: p, kind: KindKey, id: e.ID}.failf("key", "the secret is redacted, and there is no older one to keep")
		}
	}
	return made, p.err()
}
