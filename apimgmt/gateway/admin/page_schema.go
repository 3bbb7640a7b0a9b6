package admin

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// schemaInputs makes the fields of a form of the fields of a schema. The prefix is that of
// their names.
func schemaInputs(prefix string, fields []map[string]schemaField) []input {
	var made []input
	for _, field := range fields {
		for name, described := range field {
			if described["unsupported"] != true {
				made = append(made, schemaInput(prefix, name, described))
			}
		}
	}
	return made
}

func schemaInput(prefix, name string, described schemaField) input {
	f := input{Name: prefix + name, Label: labelOf(name), Type: textInput, sparse: true}
	f.Hint, _ = described["description"].(string)
	f.Required, _ = described["required"].(bool)
	f.fallback = plain(described["default"])
	switch described["type"] {
	case "record":
		f.Type, f.Required = groupInput, false
		inner, _ := described["fields"].([]map[string]schemaField)
		f.Fields = schemaInputs(f.Name+".", inner)
	case "boolean":
		f.Type = checkInput
	case "integer", "number":
		f.Type, f.whole = numberInput, described["type"] == "integer"
		if between, ok := described["between"].([]json.Number); ok {
			f.low, f.high = between[0], between[1]
		}
	case "array", "set":
		f.Type = jsonInput
		elements, _ := described["elements"].(schemaField)
		switch elements["type"] {
		case "string":
			f.Type = linesInput
		case "integer", "number":
			f.Type, f.whole = digitsInput, elements["type"] == "integer"
		}
	case "map":
		f.Type = jsonInput
		values, _ := described["values"].(schemaField)
		elements, _ := values["elements"].(schemaField)
		switch {
		case values["type"] == "string":
			f.Type = pairsInput
		case elements["type"] == "string":
			f.Type = fieldsInput
		}
	case "json":
		f.Type = jsonInput
	}
	if choices, ok := described["one_of"].([]string); ok && f.Type == textInput {
		f.Type, f.Options = choiceInput, options(choices...)
		if !f.Required && !slices.Contains(choices, shownValue(textInput, f.fallback)) {
			f.Options = slices.Insert(f.Options, 0, option{"", "not set"})
		}
	}
	if described["encrypted"] == true && f.Type == textInput {
		f.Type = secretInput
	}
	return f
}

// plain is a value as it would have been read from JSON.
func plain(value any) any {
	if value == nil || reflect.ValueOf(value).Kind() == reflect.Slice && reflect.ValueOf(value).Len() == 0 {
		return nil
	}
	text, err := json.Marshal(value)
	if err != nil { // of a default, it never is
		return nil
	}
	var made any
	if json.Unmarshal(text, &made) != nil {
		return nil
	}
	return made
}

// abbreviations are the words of names that are not written in lower case.
var abbreviations = map[string]string{"api": "API", "cors": "CORS", "http": "HTTP", "id": "ID", "ip": "IP", "jwt": "JWT", "oidc": "OIDC",
	"ssl": "SSL", "tcp": "TCP", "uri": "URI", "url": "URL", "ai": "AI"}

// labelOf is the name of a field as its label: key_in_header is "Key in header".
func labelOf(name string) string {
	words := strings.Split(name, "_")
	for i, word := range words {
		if short, ok := abbreviations[word]; ok {
			words[i] = short
		}
	}
	return upper(strings.Join(words, " "))
}

// shownConfig is the configuration of a plugin as forms show it: without its secrets.
func shownConfig(config json.RawMessage) map[string]any {
	shown := map[string]any{}
	if json.Unmarshal(entity.RedactConfig(config), &shown) != nil || shown == nil {
		return map[string]any{}
	}
	return shown
}

// hasSecrets reports whether there is a secret in the configuration of a plugin.
func hasSecrets(config json.RawMessage) bool {
	return strings.Contains(string(entity.RedactConfig(config)), entity.Redaction)
}
