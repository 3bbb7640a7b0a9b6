package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
	"github.com/iotenablers/enablers/internal/clientaddr"
)

// RateLimiting is the kind "rate-limiting": it refuses requests of clients that have
// sent too many. Windows are those of the calendar, in UTC, as with Kong; requests
// that are refused do not count. Counts are kept in memory for the 100,000 clients of a plugin
// that have called last. With the policy local they are exact for this gateway; with cluster
// they are shared with other gateways, see [Counts] for what that bounds. Each gateway counts
// windows of one second for itself.
//
//	second, minute, hour, day, month, year  how many requests; at least one is required
//	limit_by             consumer (the default), credential, ip, service, header or path; what has no
//	                     consumer or credential counts by address. Addresses of IPv6 count by
//	                     their first 64 bits, since a client has all that follow.
//	header_name, path    for limit_by header and path
//	policy               local, or cluster where gateways share counts; the default is cluster where
//	                     they do so by default, otherwise local
//	hide_client_headers  whether RateLimit, X-RateLimit and Retry-After fields are left out
//	error_code           429 by default
//	error_message        "API rate limit exceeded" by default
//	fault_tolerant       accepted, as counting cannot fail
//	sync_rate            accepted: the gateway says how often counts are exchanged
func RateLimiting() gateway.Kind { return rateLimitingWith(nil) }

// rateLimitingWith is RateLimiting with counts that are shared.
func rateLimitingWith(shared *Counts) gateway.Kind {
	return configured(gateway.Kind{
		Name:     "rate-limiting",
		Summary:  "how often callers may call",
		Priority: 910,
	}, func() *rateLimiting { return newRateLimiting(shared) }, func(c *rateLimiting, setup gateway.Setup) (gateway.Plugin, error) {
		return compileRateLimiting(c, setup, shared)
	})
}

type rateLimiting struct {
	Second int64 `json:"second" about:"Requests per second; one of these limits is required"`
	Minute int64 `json:"minute" about:"Requests per minute"`
	Hour   int64 `json:"hour" about:"Requests per hour"`
	Day    int64 `json:"day" about:"Requests per day"`
	Month  int64 `json:"month" about:"Requests per month"`
	Year   int64 `json:"year" about:"Requests per year"`

	LimitBy           string `json:"limit_by" schema:"one_of=consumer|credential|ip|service|header|path" about:"Whose requests count"`
	HeaderName        string `json:"header_name" about:"For header"`
	Path              string `json:"path" about:"For path; begins with /"`
	Policy            string `json:"policy" schema:"one_of=local|cluster" about:"Who counts: each gateway, or all of a store"`
	FaultTolerant     bool   `json:"fault_tolerant" about:"Accepted, as counting cannot fail"`
	HideClientHeaders bool   `json:"hide_client_headers" about:"Answers do not say what is left"`
	ErrorCode         int    `json:"error_code" schema:"between=400..599" about:"Status of refusals"`
	ErrorMessage      string `json:"error_message" about:"Message of refusals"`

	// What Kong writes for the policies that are not here.
	Redis         json.RawMessage `json:"redis" schema:"-"`
	RedisHost     json.RawMessage `json:"redis_host" schema:"-"`
	RedisPort     json.RawMessage `json:"redis_port" schema:"-"`
	RedisPassword json.RawMessage `json:"redis_password" schema:"-"`
	RedisUsername json.RawMessage `json:"redis_username" schema:"-"`
	RedisSSL      json.RawMessage `json:"redis_ssl" schema:"-"`
	RedisVerify   json.RawMessage `json:"redis_ssl_verify" schema:"-"`
	RedisServer   json.RawMessage `json:"redis_server_name" schema:"-"`
	RedisTimeout  json.RawMessage `json:"redis_timeout" schema:"-"`
	RedisDatabase json.RawMessage `json:"redis_database" schema:"-"`
	SyncRate      json.RawMessage `json:"sync_rate" schema:"-"`

	limits  []limit
	counter *counter
}

// newRateLimiting is a configuration with its defaults.
func newRateLimiting(shared *Counts) *rateLimiting {
	policy := policyLocal
	if shared != nil && shared.config.Default {
		policy = policyCluster
	}
	return &rateLimiting{LimitBy: "consumer", Policy: policy, FaultTolerant: true,
		ErrorCode: http.StatusTooManyRequests, ErrorMessage: "API rate limit exceeded"}
}

// The policies, with Kong's names.
const (
	policyLocal   = "local"
	policyCluster = "cluster"
)

func compileRateLimiting(c *rateLimiting, setup gateway.Setup, shared *Counts) (gateway.Plugin, error) {
	if err := c.check(setup.Config); err != nil {
		return gateway.Plugin{}, err
	}
	c.counter = newCounter(c.limits, mostClients)
	made := gateway.Plugin{Access: c.access}
	if c.Policy == policyCluster {
		if shared == nil {
			return gateway.Plugin{}, errors.New(
				"config.policy: cluster is for gateways that share counts, and this one does not; local counts at each gateway")
		}
		longest := c.limits[len(c.limits)-1]
		if shared.config.Documents != nil && longest.isShared() {
			shared.add(c.counter, setup.ID)
			made.Close = func() error {
				shared.remove(c.counter)
				return nil
			}
		}
	}
	if !c.HideClientHeaders {
		made.Head = c.head
	}
	return made, nil
}

// check checks the configuration, and lists its limits.
func (c *rateLimiting) check(config json.RawMessage) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(config, &given); err != nil {
		return fmt.Errorf("config: %w", err)
	}
	for period, most := range []int64{c.Second, c.Minute, c.Hour, c.Day, c.Month, c.Year} {
		l := limit{period: period, most: most}
		if text, ok := given[l.name()]; most < 0 || (most == 0 && ok && string(text) != "null") {
			return fmt.Errorf("config.%s: %d is not greater than zero", l.name(), most)
		}
		if most == 0 {
			continue
		}
		if n := len(c.limits); n > 0 && c.limits[n-1].most > most {
			return fmt.Errorf("config.%s: %d is less than the %d for a %s", l.name(), most, c.limits[n-1].most, c.limits[n-1].name())
		}
		c.limits = append(c.limits, l)
	}
	switch {
	case len(c.limits) == 0:
		return errors.New("config.minute: one of second, minute, hour, day, month and year is required")
	case c.Policy != policyLocal && c.Policy != policyCluster:
		return fmt.Errorf("config.policy: %q is not supported, only local and cluster are", c.Policy)
	case !slices.Contains([]string{"consumer", "credential", "ip", "service", "header", "path"}, c.LimitBy):
		return fmt.Errorf("config.limit_by: %q is not consumer, credential, ip, service, header or path", c.LimitBy)
	case c.LimitBy == "header" && c.HeaderName == "":
		return errors.New("config.header_name: it is required with limit_by header")
	case c.LimitBy == "path" && (c.Path == "" || c.Path[0] != '/'):
		return errors.New("config.path: one that begins with / is required with limit_by path")
	case c.ErrorCode < 400 || c.ErrorCode > 599:
		return fmt.Errorf("config.error_code: %d is not between 400 and 599", c.ErrorCode)
	}
	return nil
}

// access counts a request, or refuses it.
func (c *rateLimiting) access(x *gateway.Exchange) *gateway.Answer {
	used := c.counter.take(c.client(x), x.Received())
	if !c.HideClientHeaders {
		x.Set(c, &used)
	}
	if !used.refused {
		return nil
	}
	answer := gateway.Refuse(c.ErrorCode, c.ErrorMessage)
	if !c.HideClientHeaders {
		answer.Header["Retry-After"] = []string{strconv.FormatInt(used.reset, 10)}
	}
	return answer
}

// client names the counted caller. The first byte is its kind, so that no caller
// can be taken for another one.
func (c *rateLimiting) client(x *gateway.Exchange) string {
	switch c.LimitBy {
	case "service":
		if s := x.Service(); s != nil {
			return "s" + s.ID
		}
	case "header":
		if value := x.Request().Header.Get(c.HeaderName); value != "" {
			return "h" + value
		}
	case "path":
		if x.Path() == c.Path {
			return "p"
		}
	case "consumer":
		if who := x.Identity(); who.Consumer != nil {
			return "c" + who.Consumer.ID
		}
		fallthrough
	case "credential":
		if who := x.Identity(); who.Credential != "" {
			return "k" + who.Credential
		}
	}
	address := clientaddr.Of(x.ClientIP())
	if address == (netip.Addr{}) {
		return "i"
	}
	return "i" + address.String()
}

// head sets the header fields with the remainder.
func (c *rateLimiting) head(x *gateway.Exchange) {
	used, ok := x.Value(c).(*usage)
	if !ok {
		return
	}
	header := x.Response().Header
	set := func(name string, value int64) { header[name] = []string{strconv.FormatInt(value, 10)} }
	least := 0
	for i, l := range c.limits {
		set(periods[l.period].limit, l.most)
		set(periods[l.period].remaining, used.left[i])
		if used.left[i] <= used.left[least] {
			least = i
		}
	}
	set("Ratelimit-Limit", c.limits[least].most)
	set("Ratelimit-Remaining", used.left[least])
	set("Ratelimit-Reset", c.limits[least].reset(x.Received()))
}

// limit is the number of requests that are allowed in a window.
type limit struct {
	period int // 0 is a second, 5 a year
	most   int64
}

type periodNames struct{ name, limit, remaining string }

// periods are the windows, and their header fields.
var periods = [...]periodNames{
	{"second", "X-Ratelimit-Limit-Second", "X-Ratelimit-Remaining-Second"},
	{"minute", "X-Ratelimit-Limit-Minute", "X-Ratelimit-Remaining-Minute"},
	{"hour", "X-Ratelimit-Limit-Hour", "X-Ratelimit-Remaining-Hour"},
	{"day", "X-Ratelimit-Limit-Day", "X-Ratelimit-Remaining-Day"},
	{"month", "X-Ratelimit-Limit-Month", "X-Ratelimit-Remaining-Month"},
	{"year", "X-Ratelimit-Limit-Year", "X-Ratelimit-Remaining-Year"},
}

func (l limit) name() string { return periods[l.period].name }

// window returns begin and end of the window that a time is in, in seconds since
// 1970.
func (l limit) window(at time.Time) (begin, end int64) {
	seconds := [...]int64{1, 60, 3600, 86400}
	if l.period < len(seconds) {
		begin = at.Unix() / seconds[l.period] * seconds[l.period]
		return begin, begin + seconds[l.period]
	}
	at = at.UTC()
	if l.period == len(seconds) {
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC).Unix(),
			time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return time.Date(at.Year(), 1, 1, 0, 0, 0, 0, time.UTC).Unix(), time.Date(at.Year()+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// reset is for how many seconds the window goes on, at least one.
func (l limit) reset(at time.Time) int64 {
	_, end := l.window(at)
	return max(1, end-at.Unix())
}
