package entity

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of Kong's schemas, and those on texts, which Kong leaves to its database.
const (
	maxPort    = 65_535
	maxRetries = 32_767
	maxTimeout = 1<<31 - 2
	maxName    = 255
	maxText    = 4096
	maxTags    = 100
	maxItems   = 1000
	maxConfig  = 1 << 20
	minSlots   = 10
	maxSlots   = 1 << 16
	maxProbe   = 65_535
	maxCount   = 255
)

func serviceProtocols() []string { return []string{"http", "https", "grpc", "grpcs", "ws", "wss"} }

// nameField checks the name of an entity: letters and digits of any script, and ".",
// "-", "_" and "~".
func (s subject) nameField(field, name string) {
	if len(name) > maxName {
		s.failf(field, "has %d bytes, more than %d", len(name), maxName)
		return
	}
	if !utf8.ValidString(name) {
		s.failf(field, "is not UTF-8")
		return
	}
	for _, r := range name {
		if r < utf8.RuneSelf && !isWord(r) && !strings.ContainsRune(".-_~", r) {
			s.failf(field, "%q has the character %q; only letters, digits, \".\", \"-\", \"_\" and \"~\" are allowed", name, r)
			return
		}
	}
}

func isWord(r rune) bool {
	return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9')
}

func (s subject) meta(m *Meta) {
	if len(m.Tags) > maxTags {
		s.failf("tags", "there are %d, more than %d", len(m.Tags), maxTags)
	}
	for i, tag := range m.Tags {
		switch {
		case tag == "":
			s.failf(indexed("tags", i), "is empty")
		case len(tag) > maxName:
			s.failf(indexed("tags", i), "has %d bytes, more than %d", len(tag), maxName)
		case strings.ContainsAny(tag, ",/") || strings.ContainsFunc(tag, func(r rune) bool { return r < ' ' || r == utf8.RuneError }):
			s.failf(indexed("tags", i), "%q has a comma, a slash or a control character", tag)
		}
	}
	if m.CreatedAt < 0 || m.UpdatedAt < 0 {
		s.failf("created_at", "times are not negative")
	}
}

func (s subject) checkChoice(field, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		s.failf(field, "%q is not one of %s", value, strings.Join(allowed, ", "))
	}
}

func (s subject) within(field string, value, least, most int) {
	if value < least || value > most {
		s.failf(field, "%d is not between %d and %d", value, least, most)
	}
}

// list checks how many items there are, and that none is there twice.
func (s subject) list(field string, items []string) {
	if len(items) > maxItems {
		s.failf(field, "has %d items, more than %d", len(items), maxItems)
		return
	}
	seen := make(map[string]bool, len(items))
	for i, item := range items {
		if seen[item] {
			s.failf(indexed(field, i), "%q is there twice", item)
		}
		seen[item] = true
		if len(item) > maxText {
			s.failf(indexed(field, i), "has %d bytes, more than %d", len(item), maxText)
		}
	}
}

func (s *Service) check(at subject) {
	at.nameField("name", s.Name)
	at.checkChoice("protocol", s.Protocol, serviceProtocols()...)
	if s.Host == "" {
		at.failf("host", "is required")
	} else if !validHost(s.Host) {
		at.failf("host", "%q is neither a host name nor an address", s.Host)
	}
	at.within("port", s.Port, 0, maxPort)
	if s.Path != "" {
		at.path("path", s.Path)
	}
	at.within("retries", *s.Retries, 0, maxRetries)
	at.within("connect_timeout", s.ConnectTimeout, 1, maxTimeout)
	at.within("write_timeout", s.WriteTimeout, 1, maxTimeout)
	at.within("read_timeout", s.ReadTimeout, 1, maxTimeout)
}

func (r *Route) check(at subject) {
	at.nameField("name", r.Name)
	at.list("protocols", r.Protocols)
	web := false
	for i, protocol := range r.Protocols {
		at.checkChoice(indexed("protocols", i), protocol, serviceProtocols()...)
		web = web || !strings.HasPrefix(protocol, "grpc")
	}
	if len(r.Methods)+len(r.Hosts)+len(r.Headers)+len(r.Paths)+len(r.SNIs) == 0 {
		at.failf("paths", "at least one of methods, hosts, headers, paths and snis is needed")
	}
	if !web && len(r.Methods) > 0 {
		at.failf("methods", "routes of grpc alone have no methods")
	}
	at.list("methods", r.Methods)
	for i, method := range r.Methods {
		if method == "" || strings.ContainsFunc(method, func(c rune) bool { return c < 'A' || c > 'Z' }) {
			at.failf(indexed("methods", i), "%q is not in upper case", method)
		}
	}
	at.list("hosts", r.Hosts)
	for i, host := range r.Hosts {
		if !validPattern(host) {
			at.failf(indexed("hosts", i), "%q is not a host name; its first or its last label may be \"*\"", host)
		}
	}
	at.list("paths", r.Paths)
	for i, path := range r.Paths {
		at.routePath(indexed("paths", i), path)
	}
	for name, values := range r.Headers {
		at.header("headers."+name, name, values)
	}
	at.list("snis", r.SNIs)
	for i, sni := range r.SNIs {
		if !validPattern(sni) || strings.Contains(sni, ":") {
			at.failf(indexed("snis", i), "%q is not a host name", sni)
		}
	}
	at.checkChoice("path_handling", r.PathHandling, "v0", "v1")
	if !slices.Contains([]int{301, 302, 307, 308, 426}, r.HTTPSRedirectStatusCode) {
		at.failf("https_redirect_status_code", "%d is not one of 301, 302, 307, 308, 426", r.HTTPSRedirectStatusCode)
	}
}

// headerName is a field name of HTTP (RFC 9110, section 5.1).
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$")

func (s subject) header(field, name string, values []string) {
	if !headerName.MatchString(name) {
		s.failf(field, "%q is not a name of a header", name)
	}
	if strings.EqualFold(name, "host") {
		s.failf(field, "the host is matched by hosts")
	}
	if len(values) == 0 {
		s.failf(field, "there is no value")
	}
	s.list(field, values)
}

func (p *Plugin) check(at subject) {
	if p.Name == "" {
		at.failf("name", "is required")
	}
	at.nameField("name", p.Name)
	at.nameField("instance_name", p.InstanceName)
	at.list("protocols", p.Protocols)
	for i, protocol := range p.Protocols {
		at.checkChoice(indexed("protocols", i), protocol, serviceProtocols()...)
	}
	if len(p.Config) > maxConfig {
		at.failf("config", "has %d bytes, more than %d", len(p.Config), maxConfig)
	} else if len(p.Config) == 0 || p.Config[0] != '{' || !json.Valid(p.Config) {
		at.failf("config", "is not a JSON object")
	}
}

func (c *Consumer) check(at subject) {
	if c.Username == "" && c.CustomID == "" {
		at.failf("username", "a username or a custom_id is needed")
	}
	for field, value := range map[string]string{"username": c.Username, "custom_id": c.CustomID} {
		if len(value) > maxName || !utf8.ValidString(value) {
			at.failf(field, "is not UTF-8 of up to %d bytes", maxName)
		}
	}
}

func (k *Key) check(at subject) {
	if k.Key == "" {
		at.failf("key", "is required")
	}
	if len(k.Key) > maxText {
		at.failf("key", "has %d bytes, more than %d", len(k.Key), maxText)
	}
	if strings.ContainsFunc(k.Key, func(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }) {
		at.failf("key", "has a character that headers cannot have")
	}
	if k.Consumer == nil {
		at.failf("consumer", "is required")
	}
	at.within("ttl", k.TTL, 0, 100_000_000)
}

func (u *Upstream) check(at subject) {
	if !validHost(u.Name) || isAddress(u.Name) {
		at.failf("name", "%q is not a host name", u.Name)
	}
	at.checkChoice("algorithm", u.Algorithm, "round-robin", "least-connections", "consistent-hashing", "latency")
	hashes := []string{"none", "consumer", "ip", "header", "cookie", "path"}
	at.checkChoice("hash_on", u.HashOn, hashes...)
	at.checkChoice("hash_fallback", u.HashFallback, hashes...)
	if u.HashOn == "header" && !headerName.MatchString(u.HashOnHeader) {
		at.failf("hash_on_header", "the name of a header is needed to hash on one")
	}
	if u.HashFallback == "header" && !headerName.MatchString(u.HashFallbackHeader) {
		at.failf("hash_fallback_header", "the name of a header is needed to fall back on one")
	}
	if (u.HashOn == "cookie" || u.HashFallback == "cookie") && !headerName.MatchString(u.HashOnCookie) {
		at.failf("hash_on_cookie", "the name of a cookie is needed to hash on one")
	}
	if u.HashOn == "none" && u.HashFallback != "none" {
		at.failf("hash_fallback", "there is nothing to fall back from")
	}
	if u.HashFallback != "none" && u.HashOn == u.HashFallback && u.HashOn != "header" {
		at.failf("hash_fallback", "is the same as hash_on")
	}
	at.within("slots", u.Slots, minSlots, maxSlots)
	if u.HostHeader != "" && !validHostPort(u.HostHeader) {
		at.failf("host_header", "%q is not a host name", u.HostHeader)
	}
	if u.Healthchecks != nil {
		u.Healthchecks.check(at)
	}
}

func (h *Healthchecks) check(at subject) {
	if !(h.Threshold >= 0 && h.Threshold <= 100) {
		at.failf("healthchecks.threshold", "%v is not between 0 and 100", h.Threshold)
	}
	const active, passive = "healthchecks.active.", "healthchecks.passive."
	at.checkChoice(active+"type", h.Active.Type, "http", "https", "tcp", "grpc", "grpcs")
	at.checkChoice(passive+"type", h.Passive.Type, "http", "https", "tcp", "grpc", "grpcs")
	if !strings.HasPrefix(h.Active.HTTPPath, "/") || len(h.Active.HTTPPath) > maxText {
		at.failf(active+"http_path", "should start with \"/\"")
	}
	if !(h.Active.Timeout >= 0 && h.Active.Timeout <= maxProbe) {
		at.failf(active+"timeout", "%v is not between 0 and %d", h.Active.Timeout, maxProbe)
	}
	at.within(active+"concurrency", h.Active.Concurrency, 1, maxTimeout)
	if h.Active.HTTPSSNI != "" && !validHost(h.Active.HTTPSSNI) {
		at.failf(active+"https_sni", "%q is not a host name", h.Active.HTTPSSNI)
	}
	for name, values := range h.Active.Headers {
		if !headerName.MatchString(name) {
			at.failf(active+"headers", "%q is not a name of a header", name)
		}
		at.list(active+"headers."+name, values)
	}
	h.Active.Healthy.check(at, active+"healthy.")
	h.Active.Unhealthy.check(at, active+"unhealthy.")
	h.Passive.Healthy.check(at, passive+"healthy.")
	h.Passive.Unhealthy.check(at, passive+"unhealthy.")
}

func (v *Verdict) check(at subject, field string) {
	if !(v.Interval >= 0 && v.Interval <= maxProbe) {
		at.failf(field+"interval", "%v is not between 0 and %d", v.Interval, maxProbe)
	}
	if len(v.HTTPStatuses) > maxItems {
		at.failf(field+"http_statuses", "has %d items, more than %d", len(v.HTTPStatuses), maxItems)
	} else {
		for i, status := range v.HTTPStatuses {
			at.within(indexed(field+"http_statuses", i), status, 100, 999)
		}
	}
	at.within(field+"successes", v.Successes, 0, maxCount)
	at.within(field+"http_failures", v.HTTPFailures, 0, maxCount)
	at.within(field+"tcp_failures", v.TCPFailures, 0, maxCount)
	at.within(field+"timeouts", v.Timeouts, 0, maxCount)
}

func (t *Target) check(at subject) {
	if t.Target == "" {
		at.failf("target", "is required")
	} else if !validHostPort(t.Target) {
		at.failf("target", "%q is not a host with a port", t.Target)
	}
	at.within("weight", *t.Weight, 0, 65_535)
	if t.Upstream == nil {
		at.failf("upstream", "is required")
	}
}
