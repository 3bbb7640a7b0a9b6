package entity

import "encoding/json"

// Meta has the fields that all entities share.
type Meta struct {
	// ID is a UUID. An entity without one gets it from what names it, so that the
	// same configuration has the same ids everywhere.
	ID string `json:"id,omitempty" keep:"key"`
	// Tags are free labels.
	Tags []string `json:"tags,omitempty"`
	// CreatedAt and UpdatedAt are seconds since 1970.
	CreatedAt int64 `json:"created_at,omitempty"`
	UpdatedAt int64 `json:"updated_at,omitempty"`
}

// Ref names another entity, by id or by name.
type Ref struct {
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
}

// Service is an upstream API.
type Service struct {
	Meta
	// Name is unique among services.
	Name string `json:"name,omitempty"`
	// Enabled reports whether requests are proxied to the service. Nil means true.
	Enabled *bool `json:"enabled,omitempty"`
	// Protocol is http, https, grpc, grpcs, ws or wss. Empty means http.
	Protocol string `json:"protocol"`
	// Host is the host name, the address, or the name of an [Upstream].
	Host string `json:"host"`
	// Port is the TCP port. Zero means 80, or 443 for https, grpcs and wss.
	Port int `json:"port"`
	// Path is put before the path of requests; empty or beginning with "/".
	Path string `json:"path,omitempty"`
	// Retries is the number of further attempts of a request that did not reach the service
	// again. Nil means 5.
	Retries *int `json:"retries,omitempty"`
	// ConnectTimeout, WriteTimeout and ReadTimeout are in milliseconds: to connect,
	// and between two writes and two reads. Zero means 60000.
	ConnectTimeout int `json:"connect_timeout"`
	WriteTimeout   int `json:"write_timeout"`
	ReadTimeout    int `json:"read_timeout"`
	// TLSVerify reports whether the certificate of an https service is verified. Nil
	// means true.
	TLSVerify *bool `json:"tls_verify,omitempty"`
}

// Route selects requests for a service. A request matches a route if it
// matches every list that is not empty.
type Route struct {
	Meta
	// Name is unique among routes.
	Name string `json:"name,omitempty"`
	// Service is the service to which matching requests are sent.
	Service *Ref `json:"service,omitempty"`
	// Protocols are those that requests may come over. Empty means http and https.
	Protocols []string `json:"protocols"`
	// Methods are in upper case. Empty means all.
	Methods []string `json:"methods,omitempty"`
	// Hosts may have a wildcard as their first or last label, and a port.
	Hosts []string `json:"hosts,omitempty"`
	// Paths are prefixes, or regular expressions that start with "~".
	Paths []string `json:"paths,omitempty"`
	// Headers must have one of the values each; names without regard to case.
	Headers map[string][]string `json:"headers,omitempty"`
	// SNIs are server names of TLS.
	SNIs []string `json:"snis,omitempty"`
	// RegexPriority puts regular expressions in order, the greatest first.
	RegexPriority int `json:"regex_priority"`
	// StripPath reports whether the matched prefix is taken off the path. Nil means true.
	StripPath *bool `json:"strip_path,omitempty"`
	// PreserveHost reports whether the service sees the Host header of the client.
	PreserveHost bool `json:"preserve_host"`
	// PathHandling is v0 or v1, how the paths of service and request are joined.
	// Empty means v0.
	PathHandling string `json:"path_handling"`
	// HTTPSRedirectStatusCode answers http requests to a route of https only. Zero means 426.
	HTTPSRedirectStatusCode int `json:"https_redirect_status_code"`
	// RequestBuffering and ResponseBuffering report whether bodies are read whole
	// before they are passed on. Nil means true, as with Kong; the embedded gateway
	// streams in any case.
	RequestBuffering  *bool `json:"request_buffering,omitempty"`
	ResponseBuffering *bool `json:"response_buffering,omitempty"`
}

// Plugin is a step that requests pass, on a route, on a service, for a consumer,
// or on everything where it names none of them. Of several plugins of one name
// the most specific counts.
type Plugin struct {
	Meta
	// Name is the kind of plugin, such as "key-auth".
	Name string `json:"name"`
	// InstanceName distinguishes plugins of a kind.
	InstanceName string `json:"instance_name,omitempty"`
	// Enabled reports whether it is applied. Nil means true.
	Enabled *bool `json:"enabled,omitempty"`
	// Config is a JSON object, as the plugin defines it. Nil means all defaults.
	Config json.RawMessage `json:"config,omitempty"`
	// Protocols are those of requests that it applies to. Empty means http, https,
	// grpc and grpcs.
	Protocols []string `json:"protocols,omitempty"`
	Service   *Ref     `json:"service,omitempty"`
	Route     *Ref     `json:"route,omitempty"`
	Consumer  *Ref     `json:"consumer,omitempty"`
}

// Consumer is a caller of APIs.
type Consumer struct {
	Meta
	// Username and CustomID are unique; one of them is there.
	Username string `json:"username,omitempty"`
	CustomID string `json:"custom_id,omitempty"`
}

// Key is a credential of key-auth.
type Key struct {
	Meta
	// Key is the secret itself. Empty means that one is generated.
	Key string `json:"key"`
	// Consumer is its owner.
	Consumer *Ref `json:"consumer,omitempty"`
	// TTL is for how many seconds it counts; zero is for ever.
	TTL int `json:"ttl,omitempty"`
}

// Config is everything that a gateway serves. References between its entities
// are by id once it is normalised.
type Config struct {
	// Services are the upstream APIs.
	Services []Service `json:"services,omitempty"`
	// Routes say which requests go where.
	Routes []Route `json:"routes,omitempty"`
	// Plugins are the plugins that requests pass.
	Plugins []Plugin `json:"plugins,omitempty"`
	// Consumers are the callers.
	Consumers []Consumer `json:"consumers,omitempty"`
	// Keys are the consumers' keys.
	Keys []Key `json:"keyauth_credentials,omitempty"`
	// Upstreams are names for several targets.
	Upstreams []Upstream `json:"upstreams,omitempty"`
	// Targets are their addresses.
	Targets []Target `json:"targets,omitempty"`
}
