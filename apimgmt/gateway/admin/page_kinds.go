package admin

import (
	"github.com/iotenablers/enablers/apimgmt/entity"
	"github.com/iotenablers/enablers/internal/form"
)

// mostOptions is how many entities a form offers as a choice. Of more it asks for the name.
const mostOptions = 200

// reference is the field that names an entity of a kind. None says what an empty one means.
func reference(config *entity.Config, kind entity.Kind, label, none string) form.Field {
	f := form.Field{Name: string(kind), Label: label, Kind: form.Reference, Options: []form.Option{{Label: none}}}
	for e := range tableFor(kind).rows(config) {
		if f.Options = append(f.Options, form.Option{Value: e.meta().ID, Label: e.label()}); len(f.Options) > mostOptions {
			f.Options, f.Hint = nil, "Its name or identifier. Empty means: "+none
			break
		}
	}
	return f
}

// more marks fields that few people need.
func more(fields ...form.Field) form.Fields {
	for i := range fields {
		fields[i].More = true
	}
	return fields
}

// inputs are the fields of the form of a kind. What they do not have stays as it is.
func (p *pages) inputs(e row, config *entity.Config) form.Fields {
	name := form.Field{Name: "name", Label: "Name", Hint: "Letters, digits, “.”, “-”, “_” and “~”"}
	tags := form.Field{Name: "tags", Label: "Tags", Kind: form.Lines, Hint: "One in a line", More: true}
	enabled := form.Field{Name: "enabled", Label: "Enabled", Kind: form.Check}
	switch e := e.entity.(type) {
	case *entity.Service:
		return append(form.Fields{
			name,
			{Name: "protocol", Label: "Protocol", Kind: form.Choice, Options: form.Options("http", "https", "grpc", "grpcs", "ws", "wss")},
			{Name: "host", Label: "Host", Required: true, Hint: "A host name, an address, or the name of an upstream"},
			{Name: "port", Label: "Port", Kind: form.Number, Whole: true, Low: "1", High: "65535", Hint: "Empty means 80, or 443 with TLS"},
			{Name: "path", Label: "Path", Hint: "Put before the path of requests"}, enabled,
		}, append(more(
			form.Field{Name: "retries", Label: "Retries", Kind: form.Number, Whole: true,
				Hint: "How often a request that has not reached the service is sent again; empty means 5"},
			form.Field{Name: "connect_timeout", Label: "Time to connect (ms)", Kind: form.Number, Whole: true, Hint: "Empty means 60000"},
			form.Field{Name: "read_timeout", Label: "Time between two reads (ms)", Kind: form.Number, Whole: true, Hint: "Empty means 60000"},
			form.Field{Name: "write_timeout", Label: "Time between two writes (ms)", Kind: form.Number, Whole: true, Hint: "Empty means 60000"},
			form.Field{Name: "tls_verify", Label: "Verify the certificate", Kind: form.Check}), tags)...)
	case *entity.Route:
		return append(form.Fields{
			name, reference(config, entity.KindService, "Service", "None"),
			{Name: "paths", Label: "Paths", Kind: form.Lines, Hint: "One in a line: prefixes, or regular expressions that begin with “~”"},
			{Name: "methods", Label: "Methods", Kind: form.Lines, Hint: "One in a line; none means all"},
			{Name: "hosts", Label: "Hosts", Kind: form.Lines, Hint: "One in a line; none means all"},
			{Name: "strip_path", Label: "Take the matched prefix off the path", Kind: form.Check},
			{Name: "preserve_host", Label: "Pass the Host header on", Kind: form.Check},
		}, append(more(
			form.Field{Name: "headers", Label: "Header fields", Kind: form.Lists,
				Hint: "NAME: VALUE, one in a line; requests have one of the values of each name"},
			form.Field{Name: "snis", Label: "Server names of TLS", Kind: form.Lines, Hint: "One in a line; none means all"},
			form.Field{Name: "protocols", Label: "Protocols", Kind: form.Lines, Hint: "http, https, grpc, grpcs; one in a line"},
			form.Field{Name: "https_redirect_status_code", Label: "Status where https is required", Kind: form.Choice, Whole: true,
				Options: form.Options("426", "301", "302", "307", "308")},
			form.Field{Name: "regex_priority", Label: "Priority of regular expressions", Kind: form.Number, Whole: true,
				Hint: "The greatest comes first"},
			form.Field{Name: "path_handling", Label: "Joining of paths", Kind: form.Choice, Options: form.Options("v0", "v1")}), tags)...)
	case *entity.Consumer:
		return form.Fields{
			{Name: "username", Label: "Username", Hint: "This or the custom ID is needed"},
			{Name: "custom_id", Label: "Custom ID", Hint: "The identifier of the caller in another system"}, tags,
		}
	case *entity.Key:
		consumer := reference(config, entity.KindConsumer, "Consumer", "None")
		consumer.Required = true
		return form.Fields{
			consumer,
			{Name: "key", Label: "Key", Kind: form.Secret, Hint: "Empty means that a random one is generated, which is safest"},
			{Name: "ttl", Label: "Counts for (seconds)", Kind: form.Number, Whole: true, Hint: "Empty means until it is revoked"}, tags,
		}
	case *entity.Upstream:
		return upstreamInputs(name, tags)
	case *entity.Target:
		upstream := reference(config, entity.KindUpstream, "Upstream", "None")
		upstream.Required = true
		return form.Fields{
			upstream,
			{Name: "target", Label: "Target", Required: true, Hint: "A host or an address, with a port or not: lamps.example:8080"},
			{Name: "weight", Label: "Weight", Kind: form.Number, Whole: true, Low: "0", High: "65535",
				Hint: "Its share of the requests, 0 to 65535; empty means 100"}, tags,
		}
	case *entity.Plugin:
		return p.pluginInputs(e, config, enabled, tags)
	}
	return nil
}

func upstreamInputs(name, tags form.Field) form.Fields {
	hash := form.Options("none", "consumer", "ip", "header", "cookie", "path")
	name.Required = true
	seldom := func(name, label, hint string, kind form.Kind) form.Field {
		return form.Field{Name: "healthchecks." + name, Label: label, Hint: hint, Kind: kind, Sparse: true}
	}
	over := func(part string) form.Field {
		f := seldom(part+".type", "Over", "", form.Choice)
		f.Options, f.Default = form.Options("http", "https", "tcp"), "http"
		return f
	}
	verify := seldom("active.https_verify_certificate", "Verify certificates", "", form.Check)
	verify.Default = true
	return form.Fields{
		name,
		{Name: "algorithm", Label: "Algorithm", Kind: form.Choice,
			Options: form.Options("round-robin", "least-connections", "consistent-hashing")},
		{Name: "host_header", Label: "Host header", Hint: "What targets see as Host; empty means their own name"},
		{Name: watched, Label: "Watch the health of the targets", Kind: form.Check},
		{Name: "active", Label: "Probes", Hint: "Requests of the gateway itself. An interval of zero sends none.", Kind: form.Group,
			Fields: form.Fields{
				over("active"),
				seldom("active.http_path", "Path", "Empty means /", form.Text),
				seldom("active.healthy.interval", "Seconds between probes of healthy targets", "", form.Number),
				seldom("active.healthy.successes", "Healthy after successes", "", form.Number),
				seldom("active.unhealthy.interval", "Seconds between probes of unhealthy targets", "", form.Number),
				seldom("active.unhealthy.http_failures", "Unhealthy after failures", "", form.Number),
				seldom("active.unhealthy.tcp_failures", "Unhealthy after failures to connect", "", form.Number),
				seldom("active.unhealthy.timeouts", "Unhealthy after timeouts", "", form.Number),
				seldom("active.timeout", "Seconds until a probe times out", "Empty means 1", form.Number),
				seldom("active.concurrency", "Probes at once", "Empty means 10", form.Number),
				seldom("active.healthy.http_statuses", "Statuses of success", "Empty means the usual ones", form.Numbers),
				seldom("active.unhealthy.http_statuses", "Statuses of failure", "Empty means the usual ones", form.Numbers),
				seldom("active.headers", "Header fields of probes", "NAME: VALUE, one in a line", form.Lists),
				seldom("active.https_sni", "Server name for TLS", "", form.Text), verify,
			}},
		{Name: "passive", Label: "Answers to requests", Hint: "Counts of how the targets answer to the requests of callers.",
			Kind: form.Group, Fields: form.Fields{
				over("passive"),
				seldom("passive.healthy.successes", "Healthy after successes", "", form.Number),
				seldom("passive.unhealthy.http_failures", "Unhealthy after failures", "", form.Number),
				seldom("passive.unhealthy.tcp_failures", "Unhealthy after failures to connect", "", form.Number),
				seldom("passive.unhealthy.timeouts", "Unhealthy after timeouts", "", form.Number),
				seldom("passive.healthy.http_statuses", "Statuses of success", "Empty means the usual ones", form.Numbers),
				seldom("passive.unhealthy.http_statuses", "Statuses of failure", "Empty means the usual ones", form.Numbers),
				seldom("threshold", "Least share of healthy targets (%)", "By weight. Zero means that one is enough", form.Number),
			}},
		{Name: "hash_on", Label: "Hash on", Kind: form.Choice, Options: hash, More: true,
			Hint: "For consistent hashing: which requests get the same target"},
		{Name: "hash_on_header", Label: "Header to hash", More: true},
		{Name: "hash_on_cookie", Label: "Cookie to hash", More: true},
		{Name: "hash_on_cookie_path", Label: "Path of that cookie", More: true},
		{Name: "hash_fallback", Label: "Or else hash on", Kind: form.Choice, Options: hash, More: true},
		{Name: "hash_fallback_header", Label: "Header to hash or else", More: true},
		{Name: "slots", Label: "Slots", Kind: form.Number, Whole: true, Low: "10", High: "65536", More: true}, tags,
	}
}

// watched is the name of the field that says whether an upstream has health checks.
const watched = "watched"
