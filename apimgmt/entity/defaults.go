package entity

import (
	"cmp"
	"encoding/json"
	"net"
	"slices"
	"strings"
)

// The defaults of Kong.
const (
	defaultRetries = 5
	defaultTimeout = 60_000
	defaultWeight  = 100
	defaultSlots   = 10_000
	upgradeStatus  = 426
	targetPort     = "8000"
)

// fillNil sets a pointer that is nil.
func fillNil[T any](p **T, value T) {
	if *p == nil {
		*p = &value
	}
}

// fillZero sets a field that has its zero value.
func fillZero[T comparable](field *T, value T) { *field = cmp.Or(*field, value) }

func (s *Service) fill() {
	fillNil(&s.Enabled, true)
	fillZero(&s.Protocol, "http")
	if s.Port == 0 {
		s.Port = 80
		if s.Protocol == "https" || s.Protocol == "grpcs" || s.Protocol == "wss" {
			s.Port = 443
		}
	}
	s.Host = strings.ToLower(s.Host)
	fillNil(&s.Retries, defaultRetries)
	fillZero(&s.ConnectTimeout, defaultTimeout)
	fillZero(&s.WriteTimeout, defaultTimeout)
	fillZero(&s.ReadTimeout, defaultTimeout)
	fillNil(&s.TLSVerify, true)
}

func (r *Route) fill() {
	if len(r.Protocols) == 0 {
		r.Protocols = []string{"http", "https"}
	}
	for i, host := range r.Hosts {
		r.Hosts[i] = strings.ToLower(host)
	}
	if r.Headers != nil {
		headers := make(map[string][]string, len(r.Headers))
		for name, values := range r.Headers {
			lower := strings.ToLower(name)
			headers[lower] = append(headers[lower], values...)
		}
		for name := range headers {
			slices.Sort(headers[name])
			headers[name] = slices.Compact(headers[name])
		}
		r.Headers = headers
	}
	fillNil(&r.StripPath, true)
	fillZero(&r.PathHandling, "v0")
	fillZero(&r.HTTPSRedirectStatusCode, upgradeStatus)
	fillNil(&r.RequestBuffering, true)
	fillNil(&r.ResponseBuffering, true)
}

func (p *Plugin) fill() {
	fillNil(&p.Enabled, true)
	if len(p.Protocols) == 0 {
		p.Protocols = []string{"grpc", "grpcs", "http", "https"}
	}
	if len(p.Config) == 0 || string(p.Config) == "null" {
		p.Config = json.RawMessage("{}")
	}
	if compact, ok := canonical(p.Config); ok {
		p.Config = compact
	}
}

func (u *Upstream) fill() {
	u.Name = strings.ToLower(u.Name)
	fillZero(&u.Algorithm, "round-robin")
	fillZero(&u.HashOn, "none")
	fillZero(&u.HashFallback, "none")
	fillZero(&u.HashOnCookiePath, "/")
	fillZero(&u.Slots, defaultSlots)
	if u.Healthchecks != nil {
		u.Healthchecks.fill()
	}
}

func (h *Healthchecks) fill() {
	fillZero(&h.Active.Type, "http")
	fillZero(&h.Active.HTTPPath, "/")
	fillZero(&h.Active.Timeout, 1)
	fillZero(&h.Active.Concurrency, 10)
	fillNil(&h.Active.HTTPSVerifyCertificate, true)
	fillZero(&h.Passive.Type, "http")
	fillStatuses(&h.Active.Healthy, []int{200, 302})
	fillStatuses(&h.Active.Unhealthy, []int{429, 404, 500, 501, 502, 503, 504, 505})
	fillStatuses(&h.Passive.Healthy, []int{200, 201, 202, 203, 204, 205, 206, 207, 208, 226, 300, 301, 302, 303, 304, 305, 306, 307, 308})
	fillStatuses(&h.Passive.Unhealthy, []int{429, 500, 503})
}

func fillStatuses(v *Verdict, statuses []int) {
	if v.HTTPStatuses == nil {
		v.HTTPStatuses = statuses
	}
}

func (t *Target) fill() {
	fillNil(&t.Weight, defaultWeight)
	t.Target = strings.ToLower(t.Target)
	if _, _, err := net.SplitHostPort(t.Target); err == nil || t.Target == "" {
		return
	}
	if strings.Count(t.Target, ":") > 1 || strings.HasPrefix(t.Target, "[") { // an IPv6 address
		t.Target = net.JoinHostPort(strings.Trim(t.Target, "[]"), targetPort)
		return
	}
	if !strings.HasSuffix(t.Target, ":") {
		t.Target += ":" + targetPort
	}
}

// canonical writes an object of JSON without spaces and with its keys in order,
// its numbers as they are.
func canonical(raw json.RawMessage) (json.RawMessage, bool) {
	value, err := decodeNumbers(raw)
	if err != nil {
		return nil, false
	}
	made, err := json.Marshal(value)
	return made, err == nil
}
