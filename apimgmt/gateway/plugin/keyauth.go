package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// KeyAuth is the kind "key-auth": it lets requests pass that come with the key of
// a consumer. Keys are looked up by their hash, so that the time it takes says
// nothing about them.
//
//	key_names         header fields, query parameters and fields of a form; "apikey" by default
//	key_in_header     where keys may be; true by default
//	key_in_query      true by default
//	key_in_body       forms and JSON objects; false by default, as bodies are then read first,
//	                  up to 1 MiB
//	hide_credentials  whether the service does not see the key
//	anonymous         id, user name or custom id of the consumer that callers without a key are
//	run_on_preflight  whether OPTIONS needs a key; true by default
//	realm             named in refusals
func KeyAuth() gateway.Kind {
	return configured(gateway.Kind{
		Name:       "key-auth",
		Summary:    "callers show the key of a consumer",
		Priority:   1250,
		NoConsumer: true,
	}, newKeyAuth, compileKeyAuth)
}

type keyAuth struct {
	KeyNames        []string `json:"key_names" about:"Header fields, query parameters and fields of a form that may have the key"`
	KeyInHeader     bool     `json:"key_in_header" about:"Keys may be in the header"`
	KeyInQuery      bool     `json:"key_in_query" about:"Keys may be in the query"`
	KeyInBody       bool     `json:"key_in_body" about:"Keys may be in forms and JSON objects, which are then read first"`
	HideCredentials bool     `json:"hide_credentials" about:"The service does not see the key"`
	Anonymous       string   `json:"anonymous" about:"The consumer that callers without a key are: identifier, username or custom ID"`
	RunOnPreflight  bool     `json:"run_on_preflight" about:"OPTIONS requires a key too"`
	Realm           string   `json:"realm" about:"Named in refusals"`

	challenge string
}

// bodyWithKey is the longest body that a key is looked for in.
const bodyWithKey = 1 << 20

// newKeyAuth is a configuration with its defaults.
func newKeyAuth() *keyAuth {
	return &keyAuth{KeyNames: []string{"apikey"}, KeyInHeader: true, KeyInQuery: true, RunOnPreflight: true}
}

func compileKeyAuth(c *keyAuth, _ gateway.Setup) (gateway.Plugin, error) {
	if len(c.KeyNames) == 0 {
		return gateway.Plugin{}, errors.New("config.key_names: at least one is required")
	}
	for _, name := range c.KeyNames {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r > 0x7f || (!alphanumeric(byte(r)) && r != '-' && r != '_')
		}) {
			return gateway.Plugin{}, fmt.Errorf("config.key_names: %q has other characters than letters, digits, - and _", name)
		}
	}
	if !c.KeyInHeader && !c.KeyInQuery && !c.KeyInBody {
		return gateway.Plugin{}, errors.New("config.key_in_header: a key has to be allowed somewhere")
	}
	c.challenge = "Key"
	if c.Realm != "" {
		c.challenge += " realm=" + quoted(c.Realm)
	}
	return gateway.Plugin{Access: c.access}, nil
}

func (c *keyAuth) access(x *gateway.Exchange) *gateway.Answer {
	removeIdentity(x)
	if !c.RunOnPreflight && x.Request().Method == http.MethodOptions {
		return nil
	}
	if c.Anonymous != "" && x.Identity().Consumer != nil && !x.Identity().Anonymous {
		return nil // another plugin has found out: one of them is enough
	}
	key, answer := c.find(x)
	if answer != nil {
		return answer
	}
	message := "No API key found in request"
	if key != "" {
		if credential, consumer, ok := x.Key(key); ok {
			setIdentity(x, gateway.Identity{Consumer: consumer, Credential: credential.ID})
			return nil
		}
		message = "Unauthorized"
	}
	if c.Anonymous == "" {
		return challenge(c.challenge, message)
	}
	consumer := x.Consumer(c.Anonymous)
	if consumer == nil {
		return gateway.Refuse(http.StatusInternalServerError, "the anonymous consumer of key-auth does not exist")
	}
	setIdentity(x, gateway.Identity{Consumer: consumer, Anonymous: true})
	return nil
}

// find returns the key of a request; empty if it has none. More than one value
// under a name is refused, as it is not clear which of them counts.
func (c *keyAuth) find(x *gateway.Exchange) (string, *gateway.Answer) {
	up := x.Upstream()
	var key string
	take := func(values []string) bool {
		if len(values) == 1 && key == "" {
			key = values[0]
		}
		return len(values) < 2
	}
	var query url.Values
	if c.KeyInQuery && up.Query != "" {
		query, _ = url.ParseQuery(up.Query) // what is malformed has no key
	}
	for _, name := range c.KeyNames {
		field := http.CanonicalHeaderKey(name)
		if c.KeyInHeader {
			if !take(x.Request().Header[field]) {
				return "", gateway.Refuse(http.StatusUnauthorized, "Duplicate API key found")
			}
			if c.HideCredentials {
				delete(up.Header, field)
			}
		}
		if values := query[name]; len(values) > 0 {
			if !take(values) {
				return "", gateway.Refuse(http.StatusUnauthorized, "Duplicate API key found")
			}
			if c.HideCredentials {
				up.Query = withoutParameter(up.Query, name)
			}
		}
	}
	if key == "" && c.KeyInBody {
		return c.findInBody(x)
	}
	return key, nil
}

// withoutParameter takes a parameter out of a query, and leaves the rest as it was
// written.
func withoutParameter(query, name string) string {
	kept := slices.DeleteFunc(strings.Split(query, "&"), func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		decoded, err := url.QueryUnescape(key)
		return err == nil && decoded == name
	})
	return strings.Join(kept, "&")
}

// findInBody reads the body, and puts it back.
func (c *keyAuth) findInBody(x *gateway.Exchange) (string, *gateway.Answer) {
	up := x.Upstream()
	kind, _, err := mime.ParseMediaType(x.Request().Header.Get("Content-Type"))
	if err != nil || (kind != "application/x-www-form-urlencoded" && kind != "application/json") || up.Length == 0 {
		return "", nil
	}
	body, err := io.ReadAll(io.LimitReader(up.Body, bodyWithKey+1))
	switch {
	case err != nil:
		return "", gateway.Refuse(http.StatusBadRequest, "the body cannot be read")
	case len(body) > bodyWithKey:
		return "", gateway.Refuse(http.StatusRequestEntityTooLarge, "the body is too long to look for a key in it")
	}
	key, rest, ok := c.inForm(body)
	if kind == "application/json" {
		key, rest, ok = c.inJSON(body)
	}
	if !ok {
		return "", gateway.Refuse(http.StatusUnauthorized, "Duplicate API key found")
	}
	if c.HideCredentials && key != "" {
		body = rest
		delete(up.Header, "Content-Length")
	}
	up.Body, up.Length = bytes.NewReader(body), int64(len(body))
	return key, nil
}

func (c *keyAuth) inForm(body []byte) (key string, rest []byte, ok bool) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return "", body, true
	}
	for _, name := range c.KeyNames {
		if values := form[name]; len(values) > 1 {
			return "", nil, false
		} else if len(values) == 1 {
			return values[0], []byte(withoutParameter(string(body), name)), true
		}
	}
	return "", body, true
}

func (c *keyAuth) inJSON(body []byte) (key string, rest []byte, ok bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil {
		return "", body, true
	}
	for _, name := range c.KeyNames {
		if json.Unmarshal(object[name], &key) != nil || key == "" {
			continue
		}
		delete(object, name)
		rest, err := json.Marshal(object)
		return key, rest, err == nil
	}
	return "", body, true
}
