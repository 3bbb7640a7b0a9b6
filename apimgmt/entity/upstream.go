package entity

// Upstream is a name for several targets.
type Upstream struct {
	Meta
	// Name is the host of services that use it.
	Name string `json:"name"`
	// Algorithm is round-robin, least-connections or consistent-hashing. Empty
	// means round-robin.
	Algorithm string `json:"algorithm"`
	// HashOn is none, consumer, ip, header, cookie or path, for consistent-hashing.
	// Empty means none. HashFallback is what counts where a request lacks it.
	HashOn       string `json:"hash_on"`
	HashFallback string `json:"hash_fallback"`
	// HashOnHeader and HashFallbackHeader are names of headers, for header.
	HashOnHeader       string `json:"hash_on_header,omitempty"`
	HashFallbackHeader string `json:"hash_fallback_header,omitempty"`
	// HashOnCookie is the name of the cookie, for cookie, and HashOnCookiePath the
	// path it is set for, empty means "/".
	HashOnCookie     string `json:"hash_on_cookie,omitempty"`
	HashOnCookiePath string `json:"hash_on_cookie_path"`
	// Slots is how many the ring of Kong has, 10 to 65536. Zero means 10000.
	Slots int `json:"slots"`
	// HostHeader is the Host header that targets get. Empty means their own name.
	HostHeader string `json:"host_header,omitempty"`
	// Healthchecks configures the health checks of targets. Nil means not at all.
	Healthchecks *Healthchecks `json:"healthchecks,omitempty"`
}

// Target is one address of an upstream.
type Target struct {
	Meta
	// Target is a host with a port; without one it is 8000.
	Target string `json:"target"`
	// Weight is its share, 0 to 65535. Nil means 100.
	Weight   *int `json:"weight,omitempty"`
	Upstream *Ref `json:"upstream,omitempty"`
}

// Healthchecks configures the health checks of targets.
type Healthchecks struct {
	// Threshold is the least percentage of the weight of targets that has to be
	// healthy for the upstream to be it. Zero means that one target is enough.
	Threshold float64      `json:"threshold"`
	Active    ActiveCheck  `json:"active"`
	Passive   PassiveCheck `json:"passive"`
}

// ActiveCheck probes the health of targets.
type ActiveCheck struct {
	// Type is http, https or tcp. Empty means http.
	Type string `json:"type"`
	// HTTPPath is the path of the request. Empty means "/".
	HTTPPath string `json:"http_path"`
	// Timeout is in seconds. Zero means 1.
	Timeout float64 `json:"timeout"`
	// Concurrency is the number of targets that are probed at once. Zero means 10.
	Concurrency int `json:"concurrency"`
	// HTTPSVerifyCertificate reports whether the certificates of https targets are
	// verified. Nil means true.
	HTTPSVerifyCertificate *bool `json:"https_verify_certificate,omitempty"`
	// HTTPSSNI is the server name for TLS.
	HTTPSSNI string `json:"https_sni,omitempty"`
	// Headers are sent with every question.
	Headers map[string][]string `json:"headers,omitempty"`
	// Healthy and Unhealthy are the rules; an interval of zero seconds sends no probes.
	Healthy   Verdict `json:"healthy"`
	Unhealthy Verdict `json:"unhealthy"`
}

// PassiveCheck counts the outcome of proxied requests.
type PassiveCheck struct {
	Type      string  `json:"type"`
	Healthy   Verdict `json:"healthy"`
	Unhealthy Verdict `json:"unhealthy"`
}

// Verdict is after how many of which answers a target is healthy or not; zero
// counts are ignored.
type Verdict struct {
	Interval     float64 `json:"interval,omitempty"`
	HTTPStatuses []int   `json:"http_statuses,omitempty"`
	Successes    int     `json:"successes,omitempty"`
	HTTPFailures int     `json:"http_failures,omitempty"`
	TCPFailures  int     `json:"tcp_failures,omitempty"`
	Timeouts     int     `json:"timeouts,omitempty"`
}
