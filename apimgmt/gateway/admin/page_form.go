package admin

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/entity"
)

// input is a field of a form of the page.
type input struct {
	Name, Label, Hint string
	// Type is text, number, lines, check, choice, or json.
	Type string
	// Options are those of a choice.
	Options []option
	// Value is what the field shows; for a check "true" or nothing.
	Value string
	// Fault is what is wrong with it.
	Fault    string
	Required bool
}

// option is one of a choice.
type option struct{ Value, Label string }

func options(values ...string) []option {
	made := make([]option, len(values))
	for i, v := range values {
		made[i] = option{v, v}
	}
	return made
}

// references are the entities of a kind as options of a choice.
func references(config *entity.Config, kind entity.Kind, none string) []option {
	made := []option{{"", none}}
	for e := range tableFor(kind).rows(config) {
		made = append(made, option{e.meta().ID, e.label()})
	}
	return made
}

// inputs are the fields of the form of a kind. What they do not have stays as it is.
func inputs(kind entity.Kind, config *entity.Config, kinds []string) []input {
	name := input{Name: "name", Label: "Name", Type: "text", Hint: "Letters, digits, “.”, “-”, “_” and “~”"}
	tags := input{Name: "tags", Label: "Tags", Type: "lines", Hint: "One in a line"}
	enabled := input{Name: "enabled", Label: "Enabled", Type: "check"}
	switch kind {
	case entity.KindService:
		return []input{name,
			{Name: "protocol", Label: "Protocol", Type: "choice", Options: options("http", "https", "grpc", "grpcs", "ws", "wss")},
			{Name: "host", Label: "Host", Type: "text", Required: true, Hint: "A host name, an address, or the name of an upstream"},
			{Name: "port", Label: "Port", Type: "number"},
			{Name: "path", Label: "Path", Type: "text", Hint: "Put before the path of requests"},
			{Name: "retries", Label: "Retries", Type: "number"},
			{Name: "connect_timeout", Label: "Time to connect (ms)", Type: "number"},
			{Name: "read_timeout", Label: "Time between two reads (ms)", Type: "number"},
			{Name: "write_timeout", Label: "Time between two writes (ms)", Type: "number"},
			{Name: "tls_verify", Label: "Verify the certificate", Type: "check"}, enabled, tags}
	case entity.KindRoute:
		return []input{name,
			{Name: "service", Label: "Service", Type: "choice", Options: references(config, entity.KindService, "None")},
			{Name: "paths", Label: "Paths", Type: "lines", Hint: "One in a line: prefixes, or regular expressions that begin with “~”"},
			{Name: "methods", Label: "Methods", Type: "lines", Hint: "One in a line; none means all"},
			{Name: "hosts", Label: "Hosts", Type: "lines", Hint: "One in a line; none means all"},
			{Name: "protocols", Label: "Protocols", Type: "lines"},
			{Name: "regex_priority", Label: "Priority of regular expressions", Type: "number"},
			{Name: "strip_path", Label: "Take the matched prefix off the path", Type: "check"},
			{Name: "preserve_host", Label: "Pass the Host header on", Type: "check"}, tags}
	case entity.KindConsumer:
		return []input{
			{Name: "username", Label: "Username", Type: "text", Hint: "This or the custom ID is needed"},
			{Name: "custom_id", Label: "Custom ID", Type: "text", Hint: "The identifier of the caller in another system"}, tags}
	case entity.KindKey:
		return []input{
			{Name: "consumer", Label: "Consumer", Type: "choice", Options: references(config, entity.KindConsumer, "None"), Required: true},
			{Name: "key", Label: "Key", Type: "text", Hint: "Empty means that a random one is generated"},
			{Name: "ttl", Label: "Counts for (seconds)", Type: "number", Hint: "Empty means until it is deleted"}, tags}
	case entity.KindUpstream:
		hash := options("none", "consumer", "ip", "header", "cookie", "path")
		return []input{name,
			{Name: "algorithm", Label: "Algorithm", Type: "choice", Options: options("round-robin", "least-connections", "consistent-hashing")},
			{Name: "hash_on", Label: "Hash on", Type: "choice", Options: hash, Hint: "For consistent hashing: which requests get the same target"},
			{Name: "hash_on_header", Label: "Header to hash", Type: "text"},
			{Name: "hash_on_cookie", Label: "Cookie to hash", Type: "text"},
			{Name: "hash_fallback", Label: "Or else hash on", Type: "choice", Options: hash},
			{Name: "hash_fallback_header", Label: "Header to hash or else", Type: "text"},
			{Name: "slots", Label: "Slots", Type: "number"},
			{Name: "host_header", Label: "Host header", Type: "text", Hint: "What targets see as Host; empty means their own name"},
			{Name: "healthchecks", Label: "Health checks", Type: "json",
				Hint: `A JSON object, such as {"active": {"http_path": "/", "healthy": {"interval": 5, "successes": 2}, ` +
					`"unhealthy": {"interval": 5, "http_failures": 2, "tcp_failures": 2}}}. Empty means that targets are not watched`}, tags}
	case entity.KindTarget:
		return []input{
			{Name: "upstream", Label: "Upstream", Type: "choice", Options: references(config, entity.KindUpstream, "None"), Required: true},
			{Name: "target", Label: "Target", Type: "text", Required: true, Hint: "A host or an address, with a port or not: lamps.example:8080"},
			{Name: "weight", Label: "Weight", Type: "number", Hint: "Its share of the requests, 0 to 65535"}, tags}
	}
	return []input{
		{Name: "name", Label: "Kind of plugin", Type: "choice", Options: options(kinds...), Required: true},
		{Name: "service", Label: "On service", Type: "choice", Options: references(config, entity.KindService, "Every service")},
		{Name: "route", Label: "On route", Type: "choice", Options: references(config, entity.KindRoute, "Every route")},
		{Name: "consumer", Label: "For consumer", Type: "choice", Options: references(config, entity.KindConsumer, "Every consumer")},
		{Name: "config", Label: "Configuration", Type: "json",
			Hint: "A JSON object. Secrets are shown as " + entity.Redaction + "; left so, they stay as they are"},
		enabled, tags}
}

// fill shows an entity in the fields of a form.
func fill(fields []input, e row) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var values map[string]any
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	for i := range fields {
		fields[i].Value = shownValue(fields[i], values[fields[i].Name])
	}
	if plugin, ok := e.entity.(*entity.Plugin); ok {
		for i := range fields {
			if fields[i].Type == "json" {
				var config any
				if json.Unmarshal(entity.RedactConfig(plugin.Config), &config) == nil {
					indented, err := json.MarshalIndent(config, "", "  ")
					if err != nil {
						return err
					}
					fields[i].Value = string(indented)
				}
			}
		}
	}
	return nil
}

func shownValue(f input, value any) string {
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		if v {
			return "true"
		}
	case []any:
		lines := make([]string, len(v))
		for i, line := range v {
			lines[i], _ = line.(string)
		}
		return strings.Join(lines, "\n")
	case map[string]any:
		if id, ok := v["id"].(string); ok && f.Type == "choice" {
			return id
		}
		if f.Type == "json" {
			if indented, err := json.MarshalIndent(v, "", "  "); err == nil {
				return string(indented)
			}
		}
	}
	return ""
}

// entityOf makes the JSON of an entity of what a form has sent, and keeps that in the
// fields.
func entityOf(fields []input, form url.Values) ([]byte, error) {
	made := map[string]any{}
	for i := range fields {
		f := &fields[i]
		text := strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n")
		f.Value = text
		trimmed := strings.TrimSpace(text)
		switch {
		case f.Type == "check":
			made[f.Name] = text == "true"
		case trimmed == "":
			made[f.Name] = nil
		case f.Type == "number":
			made[f.Name] = typedText(trimmed, reflect.TypeFor[int]())
		case f.Type == "lines":
			var lines []string
			for line := range strings.Lines(text) {
				if line = strings.TrimSpace(line); line != "" {
					lines = append(lines, line)
				}
			}
			made[f.Name] = lines
		case f.Type == "json":
			if !json.Valid([]byte(trimmed)) {
				return nil, schemaViolation(f.Name, "is not JSON")
			}
			made[f.Name] = json.RawMessage(trimmed)
		default:
			made[f.Name] = trimmed
		}
	}
	return json.Marshal(made)
}

// blame puts what is wrong at the fields it is about, and returns what is left.
func blame(fields []input, p *problem) string {
	rest := []string{}
	for name, reason := range p.Fields {
		found := false
		for i := range fields {
			if fields[i].Name == name {
				fields[i].Fault, found = faultText(reason), true
			}
		}
		if !found {
			rest = append(rest, name+": "+faultText(reason))
		}
	}
	if len(rest) > 0 || len(p.Fields) == 0 {
		return p.Message
	}
	return ""
}

func faultText(reason any) string {
	switch r := reason.(type) {
	case string:
		return r
	case map[string]any:
		var parts []string
		for name, inner := range r {
			parts = append(parts, name+" "+faultText(inner))
		}
		return strings.Join(parts, "; ")
	}
	text, err := json.Marshal(reason)
	if err != nil {
		return ""
	}
	return string(text)
}
