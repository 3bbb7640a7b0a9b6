package plugin

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// CORS is the kind "cors": it answers preflight requests of browsers and says in
// responses which origins may read them (Fetch standard, section 3.2).
//
//	origins              "*", origins, or expressions for them; all by default
//	methods              that may be used; all by default
//	headers              that may be sent; by default those of the preflight
//	exposed_headers      that may be read
//	credentials          whether cookies and passwords may be sent
//	max_age              for how many seconds a preflight counts
//	preflight_continue   whether the service answers preflights
//	private_network      whether private addresses may be called
//	allow_origin_absent  whether responses without an origin get the fields; true by default
func CORS() gateway.Kind {
	return configured(gateway.Kind{
		Name:       "cors",
		Summary:    "pages of which origins may call from a browser",
		Priority:   2000,
		NoConsumer: true,
	}, newCORS, compileCORS)
}

type cors struct {
	Origins           []string `json:"origins" about:"Origins, or expressions for them; empty means all"`
	Methods           []string `json:"methods" about:"Methods that may be used; empty means all"`
	Headers           []string `json:"headers" about:"Header fields that may be sent; empty means those of the preflight"`
	ExposedHeaders    []string `json:"exposed_headers" about:"Header fields of answers that pages may read"`
	Credentials       bool     `json:"credentials" about:"Cookies and passwords may be sent"`
	MaxAge            *float64 `json:"max_age" about:"For how many seconds a preflight counts"`
	PreflightContinue bool     `json:"preflight_continue" about:"The service answers preflights"`
	PrivateNetwork    bool     `json:"private_network" about:"Private addresses may be called"`
	AllowOriginAbsent bool     `json:"allow_origin_absent" about:"Answers to requests without an origin get the fields too"`

	any      bool // every origin
	patterns []origin
}

// origin is an allowed origin: the text of one, or an expression for the whole
// of it or for its host.
type origin struct {
	text   string
	regexp *regexp.Regexp
	host   bool
}

const allMethods = "GET,HEAD,PUT,PATCH,POST,DELETE,OPTIONS,TRACE,CONNECT"

// newCORS is a configuration with its defaults.
func newCORS() *cors { return &cors{AllowOriginAbsent: true} }

func compileCORS(c *cors, _ gateway.Setup) (gateway.Plugin, error) {
	for _, m := range c.Methods {
		if !slices.Contains(strings.Split(allMethods, ","), m) {
			return gateway.Plugin{}, fmt.Errorf("config.methods: %q is unknown", m)
		}
	}
	if c.MaxAge != nil && *c.MaxAge < 0 {
		return gateway.Plugin{}, fmt.Errorf("config.max_age: %v is less than zero", *c.MaxAge)
	}
	c.any = len(c.Origins) == 0
	for _, text := range c.Origins {
		if text == "*" {
			c.any = true
			continue
		}
		o := origin{host: !strings.Contains(text, ":")}
		if strings.Trim(text, originCharacters) == "" {
			o.text = normalOrigin(text)
		} else {
			compiled, err := regexp.Compile(`\A(?:` + strings.TrimSuffix(strings.TrimPrefix(text, "^"), "$") + `)\z`)
			if err != nil {
				return gateway.Plugin{}, fmt.Errorf("config.origins: %q: %w", text, err)
			}
			o.regexp = compiled
		}
		c.patterns = append(c.patterns, o)
	}
	return gateway.Plugin{Access: c.access, Head: c.head}, nil
}

const originCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:/-"

// access answers preflights.
func (c *cors) access(x *gateway.Exchange) *gateway.Answer {
	r := x.Request()
	if r.Method != http.MethodOptions || r.Header.Get("Origin") == "" || r.Header.Get("Access-Control-Request-Method") == "" {
		return nil
	}
	x.Set(c, true) // head has nothing to add
	if c.PreflightContinue {
		return nil
	}
	header := http.Header{}
	c.allow(header, r.Header.Get("Origin"))
	switch asked := r.Header.Get("Access-Control-Request-Headers"); {
	case len(c.Headers) > 0:
		header.Set("Access-Control-Allow-Headers", strings.Join(c.Headers, ","))
	case asked != "":
		header.Set("Access-Control-Allow-Headers", asked)
	}
	methods := allMethods
	if len(c.Methods) > 0 {
		methods = strings.Join(c.Methods, ",")
	}
	header.Set("Access-Control-Allow-Methods", methods)
	if c.MaxAge != nil {
		header.Set("Access-Control-Max-Age", strconv.FormatFloat(*c.MaxAge, 'f', -1, 64))
	}
	if c.PrivateNetwork && r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		header.Set("Access-Control-Allow-Private-Network", "true")
	}
	return &gateway.Answer{Status: http.StatusOK, Header: header}
}

// head sets in a response which origins may read it.
func (c *cors) head(x *gateway.Exchange) {
	from := x.Request().Header.Get("Origin")
	if x.Value(c) != nil || (from == "" && !c.AllowOriginAbsent) {
		return
	}
	header := x.Response().Header
	c.allow(header, from)
	if len(c.ExposedHeaders) > 0 {
		header.Set("Access-Control-Expose-Headers", strings.Join(c.ExposedHeaders, ","))
	}
}

// allow sets what depends on the origin.
func (c *cors) allow(header http.Header, from string) {
	switch {
	case c.any && (!c.Credentials || from == ""):
		header.Set("Access-Control-Allow-Origin", "*")
		return
	case c.any:
		header.Set("Access-Control-Allow-Origin", from)
	case len(c.patterns) == 1 && c.patterns[0].regexp == nil:
		header.Set("Access-Control-Allow-Origin", c.patterns[0].text)
	case from != "" && slices.ContainsFunc(c.patterns, func(o origin) bool { return o.matches(from) }):
		header.Set("Access-Control-Allow-Origin", normalOrigin(from))
	default:
		// Whatever the service says of itself: the gateway decides.
		header.Del("Access-Control-Allow-Origin")
		header.Del("Access-Control-Allow-Credentials")
		header.Add("Vary", "Origin")
		return
	}
	header.Add("Vary", "Origin")
	if c.Credentials {
		header.Set("Access-Control-Allow-Credentials", "true")
	}
}

func (o *origin) matches(from string) bool {
	text := normalOrigin(from)
	if o.regexp == nil {
		return text == o.text
	}
	if o.host {
		if u, err := url.Parse(from); err == nil {
			text = u.Hostname()
		}
	}
	return o.regexp.MatchString(text)
}

// normalOrigin takes the default port off an origin, and writes it in lower case
// (RFC 6454, 6.2).
func normalOrigin(text string) string {
	text = strings.ToLower(text)
	if host, ok := strings.CutSuffix(text, ":80"); ok && strings.HasPrefix(text, "http:") {
		return host
	}
	if host, ok := strings.CutSuffix(text, ":443"); ok && strings.HasPrefix(text, "https:") {
		return host
	}
	return text
}
