package admin

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/form"
)

// schemaInputs derives the fields of a form from those of a schema. The prefix is that of
// their names.
func schemaInputs(prefix string, fields []map[string]schemaField) form.Fields {
	var made form.Fields
	for _, field := range fields {
		for name, described := range field {
			if described["unsupported"] != true {
				made = append(made, schemaInput(prefix, name, described))
			}
		}
	}
	return made
}

func schemaInput(prefix, name string, described schemaField) form.Field {
	f := form.Field{Name: prefix + name, Label: fieldLabel(name), Sparse: true}
	f.Hint, _ = described["description"].(string)
	f.Required, _ = described["required"].(bool)
	f.Default = plain(described["default"])
	switch described["type"] {
	case "record":
		f.Kind, f.Required = form.Group, false
		inner, _ := described["fields"].([]map[string]schemaField)
		f.Fields = schemaInputs(f.Name+".", inner)
	case "boolean":
		f.Kind = form.Check
	case "integer", "number":
		f.Kind, f.Whole = form.Number, described["type"] == "integer"
		if between, ok := described["between"].([]json.Number); ok {
			f.Low, f.High = between[0].String(), between[1].String()
		}
	case "array", "set":
		f.Kind = form.JSON
		elements, _ := described["elements"].(schemaField)
		switch elements["type"] {
		case "string":
			f.Kind = form.Lines
		case "integer", "number":
			f.Kind, f.Whole = form.Numbers, elements["type"] == "integer"
		}
	case "map":
		f.Kind = form.JSON
		values, _ := described["values"].(schemaField)
		elements, _ := values["elements"].(schemaField)
		switch {
		case values["type"] == "string":
			f.Kind = form.Pairs
		case elements["type"] == "string":
			f.Kind = form.Lists
		}
	case "json":
		f.Kind = form.JSON
	}
	if choices, ok := described["one_of"].([]string); ok && f.Kind == form.Text {
		f.Kind, f.Options = form.Choice, form.Options(choices...)
		if !f.Required && !slices.Contains(choices, form.Text.Text(f.Default)) {
			f.Options = slices.Insert(f.Options, 0, form.Option{Label: "not set"})
		}
	}
	if described["encrypted"] == true && f.Kind == form.Text {
		f.Kind, f.Mask = form.Secret, entity.Redaction
	}
	return f
}

// plain is a value as it would have been read from JSON.
func plain(value any) any {
	if value == nil || (reflect.ValueOf(value).Kind() == reflect.Slice && reflect.ValueOf(value).Len() == 0) {
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

// fieldLabel is the name of a field as its label: key_in_header is "Key in header".
func fieldLabel(name string) string {
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
