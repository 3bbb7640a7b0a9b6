package admin

import (
	"github.com/iotenablers/enablers/apimgmt/entity"
)

// mostOptions is how many entities a form offers as a choice. Of more it asks for the name.
const mostOptions = 200

// reference is the field that names an entity of a kind. None says what an empty one means.
func reference(config *entity.Config, kind entity.Kind, label, none string) input {
	f := input{Name: string(kind), Label: label, Type: refInput, Options: []option{{"", none}}}
	for e := range tableFor(kind).rows(config) {
		if f.Options = append(f.Options, option{e.meta().ID, e.label()}); len(f.Options) > mostOptions {
			f.Options, f.Hint = nil, "Its name or identifier. Empty means: "+none
			break
		}
	}
	return f
}

// more marks fields that few people need.
func more(fields ...input) []input {
	for i := range fields {
		fields[i].More = true
	}
	return fields
}

// inputs are the fields of the form of a kind. What they do not have stays as it is.
func (p *pages) inputs(e row, config *entity.Config) []input {
	name := input{Name: "name", Label: "Name", Type: textInput, Hint: "Letters, digits, “.”, “-”, “_” and “~”"}
	tags := input{Name: "tags", Label: "Tags", Type: linesInput, Hint: "One in a line", More: true}
	enabled := input{Name: "enabled", Label: "Enabled", Type: checkInput}
	switch e := e.entity.(type) {
	case *entity.Service:
		return append([]input{
			name,
			{Name: "protocol", Label: "Protocol", Type: choiceInput, Options: options("http", "https", "grpc", "grpcs", "ws", "wss")},
			{Name: "host", Label: "Host", Type: textInput, Required: true, Hint: "A host name, an address, or the name of an upstream"},
			{Name: "port", Label: "Port", Type: numberInput, whole: true, low: "1", high: "65535", Hint: "Empty means 80, or 443 with TLS"},
			{Name: "path", Label: "Path", Type: textInput, Hint: "Put before the path of requests"}, enabled,
		}, append(more(
			input{Name: "retries", Label: "Retries", Type: numberInput, whole: true,
				Hint: "How often a request that has not reached the service is sent again; empty means 5"},
			input{Name: "connect_timeout", Label: "Time to connect (ms)", Type: numberInput, whole: true, Hint: "Empty means 60000"},
			input{Name: "read_timeout", Label: "Time between two reads (ms)", Type: numberInput, whole: true, Hint: "Empty means 60000"},
			input{Name: "write_timeout", Label: "Time between two writes (ms)", Type: numberInput, whole: true, Hint: "Empty means 60000"},
			input{Name: "tls_verify", Label: "Verify the certificate", Type: checkInput}), tags)...)
	case *entity.Route:
		return append([]input{
			name, reference(config, entity.KindService, "Service", "None"),
			{Name: "paths", Label: "Paths", Type: linesInput, Hint: "One in a line: prefixes, or regular expressions that begin with “~”"},
			{Name: "methods", Label: "Methods", Type: linesInput, Hint: "One in a line; none means all"},
			{Name: "hosts", Label: "Hosts", Type: linesInput, Hint: "One in a line; none means all"},
			{Name: "strip_path", Label: "Take the matched prefix off the path", Type: checkInput},
			{Name: "preserve_host", Label: "Pass the Host header on", Type: checkInput},
		}, append(more(
			input{Name: "headers", Label: "Header fields", Type: fieldsInput,
				Hint: "NAME: VALUE, one in a line; requests have one of the values of each name"},
			input{Name: "snis", Label: "Server names of TLS", Type: linesInput, Hint: "One in a line; none means all"},
			input{Name: "protocols", Label: "Protocols", Type: linesInput, Hint: "http, https, grpc, grpcs; one in a line"},
			input{Name: "https_redirect_status_code", Label: "Status where https is required", Type: choiceInput, whole: true,
				Options: options("426", "301", "302", "307", "308")},
			input{Name: "regex_priority", Label: "Priority of regular expressions", Type: numberInput, whole: true,
				Hint: "The greatest comes first"},
			input{Name: "path_handling", Label: "Joining of paths", Type: choiceInput, Options: options("v0", "v1")}), tags)...)
	case *entity.Consumer:
		return []input{
			{Name: "username", Label: "Username", Type: textInput, Hint: "This or the custom ID is needed"},
			{Name: "custom_id", Label: "Custom ID", Type: textInput, Hint: "The identifier of the caller in another system"}, tags,
		}
	case *entity.Key:
		consumer := reference(config, entity.KindConsumer, "Consumer", "None")
		consumer.Required = true
		return []input{
			consumer,
			{Name: "key", Label: "Key", Type: secretInput, Hint: "Empty means that a random one is generated, which is safest"},
			{Name: "ttl", Label: "Counts for (seconds)", Type: numberInput, whole: true, Hint: "Empty means until it is revoked"}, tags,
		}
	case *entity.Upstream:
		return upstreamInputs(name, tags)
	case *entity.Target:
		upstream := reference(config, entity.KindUpstream, "Upstream", "None")
		upstream.Required = true
		return []input{
			upstream,
			{Name: "target", Label: "Target", Type: textInput, Required: true, Hint: "A host or an address, with a port or not: lamps.example:8080"},
			{Name: "weight", Label: "Weight", Type: numberInput, whole: true, low: "0", high: "65535",
				Hint: "Its share of the requests, 0 to 65535; empty means 100"}, tags,
		}
	case *entity.Plugin:
		return p.pluginInputs(e, config, enabled, tags)
	}
	return nil
}

func upstreamInputs(name, tags input) []input {
	hash := options("none", "consumer", "ip", "header", "cookie", "path")
	name.Required = true
	seldom := func(name, label, hint string, of inputType) input {
		return input{Name: "healthchecks." + name, Label: label, Hint: hint, Type: of, sparse: true}
	}
	kind := func(part string) input {
		f := seldom(part+".type", "Over", "", choiceInput)
		f.Options, f.fallback = options("http", "https", "tcp"), "http"
		return f
	}
	verify := seldom("active.https_verify_certificate", "Verify certificates", "", checkInput)
	verify.fallback = true
	return []input{
		name,
		{Name: "algorithm", Label: "Algorithm", Type: choiceInput, Options: options("round-robin", "least-connections", "consistent-hashing")},
		{Name: "host_header", Label: "Host header", Type: textInput, Hint: "What targets see as Host; empty means their own name"},
		{Name: watched, Label: "Watch the health of the targets", Type: checkInput},
		{Name: "active", Label: "Probes", Hint: "Requests of the gateway itself. An interval of zero sends none.", Type: groupInput,
			Fields: []input{
				kind("active"),
				seldom("active.http_path", "Path", "Empty means /", textInput),
				seldom("active.healthy.interval", "Seconds between probes of healthy targets", "", numberInput),
				seldom("active.healthy.successes", "Healthy after successes", "", numberInput),
				seldom("active.unhealthy.interval", "Seconds between probes of unhealthy targets", "", numberInput),
				seldom("active.unhealthy.http_failures", "Unhealthy after failures", "", numberInput),
				seldom("active.unhealthy.tcp_failures", "Unhealthy after failures to connect", "", numberInput),
				seldom("active.unhealthy.timeouts", "Unhealthy after timeouts", "", numberInput),
				seldom("active.timeout", "Seconds until a probe times out", "Empty means 1", numberInput),
				seldom("active.concurrency", "Probes at once", "Empty means 10", numberInput),
				seldom("active.healthy.http_statuses", "Statuses of success", "Empty means the usual ones", digitsInput),
				seldom("active.unhealthy.http_statuses", "Statuses of failure", "Empty means the usual ones", digitsInput),
				seldom("active.headers", "Header fields of probes", "NAME: VALUE, one in a line", fieldsInput),
				seldom("active.https_sni", "Server name for TLS", "", textInput), verify,
			}},
		{Name: "passive", Label: "Answers to requests", Hint: "Counts of how the targets answer to the requests of callers.",
			Type: groupInput, Fields: []input{
				kind("passive"),
				seldom("passive.healthy.successes", "Healthy after successes", "", numberInput),
				seldom("passive.unhealthy.http_failures", "Unhealthy after failures", "", numberInput),
				seldom("passive.unhealthy.tcp_failures", "Unhealthy after failures to connect", "", numberInput),
				seldom("passive.unhealthy.timeouts", "Unhealthy after timeouts", "", numberInput),
				seldom("passive.healthy.http_statuses", "Statuses of success", "Empty means the usual ones", digitsInput),
				seldom("passive.unhealthy.http_statuses", "Statuses of failure", "Empty means the usual ones", digitsInput),
				seldom("threshold", "Least share of healthy targets (%)", "By weight. Zero means that one is enough", numberInput),
			}},
		{Name: "hash_on", Label: "Hash on", Type: choiceInput, Options: hash, More: true,
			Hint: "For consistent hashing: which requests get the same target"},
		{Name: "hash_on_header", Label: "Header to hash", Type: textInput, More: true},
		{Name: "hash_on_cookie", Label: "Cookie to hash", Type: textInput, More: true},
		{Name: "hash_on_cookie_path", Label: "Path of that cookie", Type: textInput, More: true},
		{Name: "hash_fallback", Label: "Or else hash on", Type: choiceInput, Options: hash, More: true},
		{Name: "hash_fallback_header", Label: "Header to hash or else", Type: textInput, More: true},
		{Name: "slots", Label: "Slots", Type: numberInput, whole: true, low: "10", high: "65536", More: true}, tags,
	}
}

// watched is the name of the field that says whether an upstream has health checks.
const watched = "watched"
