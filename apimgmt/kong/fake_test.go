package kong_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt/kong"
)

// object is an entity, as Kong has it.
type object = map[string]any

// fake is an Admin API written after the documentation and the schemas of Kong:
// it refuses what Kong refuses as far as the tests need that.
type fake struct {
	version string
	dbless  bool
	page    int // the most entities of a page

	mu     sync.Mutex
	tables map[string]map[string]object
	clock  int64
	calls  int
	writes []string
	extra  object // other sections of the declarative configuration

	// fail is asked before and after each call; true ends the connection.
	fail  func(number int, after bool) bool
	watch func(f *fake) // called after each write, locked
}

func newFake(version string) *fake {
	f := &fake{version: version, page: 1000, tables: map[string]map[string]object{}, clock: time.Now().Unix()}
	for _, table := range []string{"services", "routes", "plugins", "consumers", "upstreams", "targets", "keyauth_credentials"} {
		f.tables[table] = map[string]object{}
	}
	return f
}

// open returns a gateway that publishes to the fake.
func (f *fake) open(t *testing.T) *kong.Gateway {
	g, err := kong.New(kong.Config{URL: "http://kong.example/admin", Token: "hidden-token", Backoff: time.Nanosecond,
		HTTPClient: &http.Client{Transport: f}})
	require.NoError(t, err)
	return g
}

func (f *fake) old() bool { return strings.HasPrefix(f.version, "2.") }

func known(table string) []string {
	return map[string][]string{
		"services": {"id", "name", "enabled", "protocol", "host", "port", "path", "retries", "connect_timeout",
			"write_timeout", "read_timeout", "tls_verify", "tags", "ca_certificates"},
		"routes": {"id", "name", "service", "protocols", "methods", "hosts", "paths", "headers", "snis", "regex_priority",
			"strip_path", "preserve_host",
			"path_handling", "https_redirect_status_code", "request_buffering", "response_buffering", "tags", "sources"},
		"plugins":   {"id", "name", "enabled", "config", "protocols", "service", "route", "consumer", "tags"},
		"consumers": {"id", "username", "custom_id", "tags"},
		"upstreams": {"id", "name", "algorithm", "hash_on", "hash_fallback", "hash_on_header", "hash_fallback_header", "hash_on_cookie",
			"hash_on_cookie_path", "slots", "host_header", "healthchecks", "tags"},
		"targets":             {"id", "target", "weight", "upstream", "tags"},
		"keyauth_credentials": {"id", "key", "consumer", "ttl", "tags"},
	}[table]
}

func (f *fake) pluginDefaults() map[string]object {
	lists := func(more object) object {
		made := object{"headers": []any{}, "querystring": []any{}, "body": []any{}}
		maps.Copy(made, more)
		return made
	}
	return map[string]object{
		"request-transformer": {"http_method": nil, "remove": lists(nil), "rename": lists(nil), "replace": lists(object{"uri": nil}),
			"add": lists(nil), "append": lists(nil)},
		"cors": {"origins": nil, "credentials": false, "max_age": nil, "preflight_continue": false},
		"oidc": {"discovery": "https://.well-known/openid-configuration", "client_secret": nil, "realm": "kong",
			"session": object{"secret": nil, "check": true}},
		"key-auth": {"key_names": []any{"apikey"}, "hide_credentials": false},
	}
}

type refusal struct {
	status int
	body   object
}

func violation(format string, args ...any) *refusal {
	return &refusal{400, object{"message": "schema violation (" + fmt.Sprintf(format, args...) + ")", "name": "schema violation", "code": 2}}
}

// validate fills in defaults, and refuses what breaks the schema.
func (f *fake) validate(table string, e object) *refusal {
	for name := range e {
		ok := slices.Contains(known(table), name) || (name == "instance_name" && table == "plugins" && !f.old()) ||
			name == "created_at" || name == "updated_at"
		if !ok {
			return violation("%s: unknown field", name)
		}
	}
	switch table {
	case "services":
		if e["protocol"] != "https" && e["tls_verify"] != nil {
			return violation("failed conditional validation given value of field 'protocol'")
		}
		if e["host"] == nil {
			return violation("host: required field missing")
		}
	case "routes":
		paths, _ := e["paths"].([]any)
		for i, p := range paths {
			path := p.(string)
			plain := regexp.MustCompile(`^[a-zA-Z0-9._~/%:@!$&'()*+,;=-]*$`).MatchString(path)
			switch {
			case f.old() && !strings.HasPrefix(path, "/"):
				return violation("paths.%d: should start with: /", i+1)
			case !f.old() && !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "~/"):
				return violation("paths.%d: should start with: / (fixed path) or ~/ (regex path)", i+1)
			case !f.old() && strings.HasPrefix(path, "/") && !plain:
				return violation("paths.%d: should not include characters outside of the reserved list of RFC 3986", i+1)
			}
		}
	case "upstreams":
		if e["healthchecks"] == nil { // Kong writes all fields
			counts := object{"http_statuses": []any{200.0, 302.0}, "http_failures": 0.0, "tcp_failures": 0.0, "timeouts": 0.0, "interval": 0.0}
			e["healthchecks"] = object{"threshold": 0.0,
				"active":  object{"type": "http", "healthy": object{"interval": 0.0, "successes": 0.0}, "unhealthy": counts},
				"passive": object{"type": "http", "healthy": object{"successes": 0.0}, "unhealthy": counts}}
		}
	case "plugins":
		defaults, ok := f.pluginDefaults()[e["name"].(string)]
		if !ok {
			return violation("name: plugin '%s' not enabled; add it to the 'plugins' configuration property", e["name"])
		}
		config, _ := e["config"].(object)
		full := maps.Clone(defaults)
		for name, value := range config {
			if _, ok := defaults[name]; !ok {
				return violation("config.%s: unknown field (%v)", name, value)
			}
			full[name] = value
		}
		e["config"] = full
	}
	return nil
}

func (f *fake) schema(name string) object {
	var list []any
	for field, value := range f.pluginDefaults()[name] {
		kind := "string"
		if inner, ok := value.(object); ok {
			kind = "record"
			var members []any
			for n, v := range inner {
				members = append(members, object{n: object{"type": "any", "default": v}})
			}
			list = append(list, object{field: object{"type": kind, "fields": members}})
			continue
		}
		list = append(list, object{field: object{"type": kind, "default": value}})
	}
	return object{"fields": []any{object{"protocols": object{"type": "set"}}, object{"config": object{"type": "record", "fields": list}}}}
}

func id(ref any) string {
	o, _ := ref.(object)
	text, _ := o["id"].(string)
	return text
}

func (f *fake) unique(table string, e object) *refusal {
	for _, field := range []string{"name", "username", "key", "instance_name"} {
		if e[field] == nil || (table == "plugins" && field == "name") {
			continue
		}
		for _, other := range f.tables[table] {
			if other["id"] != e["id"] && other[field] == e[field] {
				return &refusal{409, object{"name": "unique constraint violation", "code": 5,
					"message": fmt.Sprintf("UNIQUE violation detected on '{%s=%q}'", field, e[field])}}
			}
		}
	}
	if table == "plugins" {
		for _, other := range f.tables[table] {
			if other["id"] != e["id"] && other["name"] == e["name"] && id(other["service"]) == id(e["service"]) &&
				id(other["route"]) == id(e["route"]) && id(other["consumer"]) == id(e["consumer"]) {
				return &refusal{409, object{"name": "unique constraint violation", "code": 5, "message": "UNIQUE violation detected on plugin"}}
			}
		}
	}
	for field, parents := range map[string]string{"service": "services", "route": "routes", "consumer": "consumers", "upstream": "upstreams"} {
		if ref := id(e[field]); ref != "" && f.tables[parents][ref] == nil {
			return &refusal{400, object{"name": "foreign key violation", "code": 4,
				"message": fmt.Sprintf("the foreign key '{id=%q}' does not reference an existing '%s' entity.", ref, parents)}}
		}
	}
	return nil
}

func (f *fake) remove(table, key string) *refusal {
	if table == "services" {
		for _, r := range f.tables["routes"] {
			if id(r["service"]) == key {
				return &refusal{400, object{"name": "foreign key violation", "code": 4,
					"message": "an existing 'routes' entity references this 'services' entity"}}
			}
		}
	}
	delete(f.tables[table], key)
	for field, of := range map[string]string{"service": "services", "route": "routes", "consumer": "consumers", "upstream": "upstreams"} {
		if of != table {
			continue
		}
		for _, children := range []string{"plugins", "keyauth_credentials", "targets"} {
			maps.DeleteFunc(f.tables[children], func(_ string, e object) bool { return id(e[field]) == key })
		}
	}
	return nil
}

// RoundTrip answers a call as the client's connection would.
func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	f.calls++
	number := f.calls
	if f.fail != nil && f.fail(number, false) {
		return nil, io.ErrUnexpectedEOF
	}
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/admin")
	status, body := f.answer(r)
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "/validate") && status < 300 {
		f.writes = append(f.writes, r.Method+" "+r.URL.Path)
		if f.watch != nil {
			f.watch(f)
		}
	}
	if f.fail != nil && f.fail(number, true) {
		return nil, io.ErrUnexpectedEOF
	}
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	if body != nil {
		if err := json.NewEncoder(w).Encode(body); err != nil {
			return nil, err
		}
	}
	return w.Result(), nil
}

func (f *fake) answer(r *http.Request) (int, any) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var body object
	if r.Body != nil && r.Method != http.MethodGet {
		_ = json.NewDecoder(r.Body).Decode(&body)
	}
	if body == nil {
		body = object{}
	}
	missing := object{"message": "Not found"}
	switch {
	case r.URL.Path == "/":
		available, database := object{}, "postgres"
		for name := range f.pluginDefaults() {
			available[name] = true
		}
		if f.dbless {
			database = "off"
		}
		return 200, object{"version": f.version, "plugins": object{"available_on_server": available},
			"configuration": object{"database": database}}
	case r.URL.Path == "/config" && f.dbless:
		return f.config(r.Method, body)
	case parts[0] == "schemas" && len(parts) == 3 && parts[1] == "plugins" && r.Method == http.MethodGet:
		if _, ok := f.pluginDefaults()[parts[2]]; !ok {
			return 404, missing
		}
		return 200, f.schema(parts[2])
	case parts[0] == "schemas" && len(parts) == 3 && parts[2] == "validate":
		if bad := f.validate(parts[1], body); bad != nil {
			return bad.status, bad.body
		}
		return 200, object{"message": "schema validation successful"}
	}
	table, field, parent := parts[0], "", ""
	if table == "key-auths" {
		table = "keyauth_credentials"
	}
	if len(parts) >= 3 {
		field, parent = strings.TrimSuffix(parts[0], "s"), parts[1]
		if e := f.find(parts[0], parent); e != nil {
			parent = e["id"].(string)
		} else {
			return 404, missing
		}
		table = map[string]string{"key-auth": "keyauth_credentials", "targets": "targets", "routes": "routes"}[parts[2]]
		parts = parts[2:]
	} else if table == "targets" {
		return 404, missing
	}
	if f.tables[table] == nil {
		return 404, missing
	}
	if f.dbless && r.Method != http.MethodGet {
		return 405, object{"message": "cannot create or update '" + table + "' entities when not using a database",
			"code": 12, "name": "operation unsupported"}
	}
	if len(parts) == 1 {
		if r.Method == http.MethodGet {
			return f.list(table, field, parent, r.URL.Query())
		}
		return f.write(table, field, parent, "", body)
	}
	there := f.find(table, parts[1])
	switch r.Method {
	case http.MethodPut:
		return f.write(table, field, parent, parts[1], body)
	case http.MethodDelete:
		if there != nil {
			if bad := f.remove(table, there["id"].(string)); bad != nil {
				return bad.status, bad.body
			}
		}
		return 204, nil
	}
	if there == nil {
		return 404, missing
	}
	return 200, there
}

func (f *fake) find(table, key string) object {
	if e := f.tables[table][key]; e != nil {
		return e
	}
	for _, e := range f.tables[table] {
		if e["name"] == key {
			return e
		}
	}
	return nil
}

func (f *fake) write(table, field, parent, key string, e object) (int, any) {
	if field != "" {
		e[field] = object{"id": parent}
	}
	if key != "" {
		e["id"] = key
	} else if text, _ := e["id"].(string); f.tables[table][text] != nil {
		return 400, object{"name": "primary key violation", "code": 3, "message": "primary key violation on key '{id=...}'"}
	}
	for _, check := range []func(string, object) *refusal{f.validate, f.unique} {
		if bad := check(table, e); bad != nil {
			return bad.status, bad.body
		}
	}
	e["created_at"], e["updated_at"] = f.clock, f.clock
	for _, name := range known(table) {
		if _, there := e[name]; !there {
			e[name] = nil
		}
	}
	f.tables[table][e["id"].(string)] = e
	return 200, e
}

func (f *fake) list(table, field, parent string, query url.Values) (int, any) {
	var all []object
	for _, key := range slices.Sorted(maps.Keys(f.tables[table])) {
		if e := f.tables[table][key]; field == "" || id(e[field]) == parent {
			all = append(all, e)
		}
	}
	from, _ := strconv.Atoi(query.Get("offset"))
	size, _ := strconv.Atoi(query.Get("size"))
	to := min(from+min(size, f.page), len(all))
	page := object{"data": all[from:to], "next": nil}
	if len(all) == 0 {
		page["data"] = []any{}
	}
	if to < len(all) {
		page["offset"], page["next"] = strconv.Itoa(to), "/"+table+"?offset="+strconv.Itoa(to)
	}
	return 200, page
}

// config is the declarative configuration of a Kong without a database.
func (f *fake) config(method string, body object) (int, any) {
	if method == http.MethodGet {
		whole := object{"_format_version": "3.0", "_transform": false}
		maps.Copy(whole, f.extra)
		for table, entities := range f.tables {
			var flat []any
			for _, e := range entities {
				e = maps.Clone(e)
				for name, value := range e {
					if ref := id(value); ref != "" {
						e[name] = ref
					}
				}
				flat = append(flat, e)
			}
			if flat != nil {
				whole[table] = flat
			}
		}
		text, _ := json.Marshal(whole)
		return 200, object{"config": string(text)}
	}
	var whole object
	if err := json.Unmarshal([]byte(body["config"].(string)), &whole); err != nil || whole["_format_version"] == nil {
		return 400, object{"name": "invalid declarative configuration", "message": "declarative config is invalid"}
	}
	was, extra := f.tables, object{}
	f.tables = map[string]map[string]object{}
	for table := range was {
		f.tables[table] = map[string]object{}
	}
	for _, table := range []string{"services", "upstreams", "targets", "consumers", "routes", "plugins", "keyauth_credentials"} {
		entities, _ := whole[table].([]any)
		delete(whole, table)
		for _, item := range entities {
			e := item.(object)
			for _, name := range []string{"service", "route", "consumer", "upstream"} {
				if ref, ok := e[name].(string); ok {
					e[name] = object{"id": ref}
				}
			}
			if status, bad := f.write(table, "", "", "", e); status != 200 {
				f.tables = was
				return 400, bad
			}
		}
	}
	maps.Copy(extra, whole)
	f.extra = extra
	return 201, object{}
}

// served are the routes that requests find: what they match, on which host, and
// the plugins that they pass.
func (f *fake) served() map[string]string {
	made := map[string]string{}
	for _, r := range f.tables["routes"] {
		s := f.tables["services"][id(r["service"])]
		if s == nil || s["enabled"] == false {
			continue
		}
		var plugins []string
		for _, p := range f.tables["plugins"] {
			if id(p["route"]) == r["id"] || (id(p["route"]) == "" && id(p["service"]) == s["id"]) {
				settings, _ := json.Marshal(p["config"])
				plugins = append(plugins, fmt.Sprint(p["name"], string(settings)))
			}
		}
		slices.Sort(plugins)
		made[fmt.Sprint(r["methods"], r["paths"])] = fmt.Sprint(s["host"], plugins)
	}
	return made
}
