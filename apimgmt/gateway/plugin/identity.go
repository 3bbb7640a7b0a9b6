package plugin

import (
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// scrubbed is the key under which an exchange notes that removeIdentity has run.
type scrubbed struct{}

// removeIdentity deletes what a client says of its own identity in fields that
// services take for the gateway's word. Every plugin that authenticates calls it
// before anything else; only the first of them does it, so that those after it
// keep what the ones before have set.
func removeIdentity(x *gateway.Exchange) {
	if x.Value(scrubbed{}) != nil {
		return
	}
	x.Set(scrubbed{}, true)
	header := x.Upstream().Header
	for name := range header {
		if claimsIdentity(name) {
			delete(header, name)
		}
	}
}

// claimsIdentity reports whether a field, or one that a service may confuse with
// it, is set by plugins that authenticate. Servers that hand fields on as variables
// (CGI, RFC 3875 section 4.1.18, and those after it) make one name of X-Userinfo,
// X_Userinfo and, some of them, X.Userinfo.
func claimsIdentity(name string) bool {
	if len(name) < len("x-id-token") || name[0]|0x20 != 'x' || alphanumeric(name[1]) {
		return false
	}
	var space [32]byte
	folded := space[:0]
	for i := range min(len(name), len(space)) {
		c := name[i]
		switch {
		case !alphanumeric(c):
			c = '-'
		case c >= 'A' && c <= 'Z':
			c |= 0x20
		}
		folded = append(folded, c)
	}
	switch string(folded) {
	case "x-userinfo", "x-access-token", "x-id-token", "x-anonymous-consumer":
		return true
	}
	return hasPrefix(folded, "x-consumer-") || hasPrefix(folded, "x-credential-") || hasPrefix(folded, "x-authenticated-")
}

func hasPrefix(text []byte, prefix string) bool {
	return len(text) >= len(prefix) && string(text[:len(prefix)]) == prefix
}

func alphanumeric(c byte) bool {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
}

// setIdentity sends the service the caller: the consumer, and its credential.
func setIdentity(x *gateway.Exchange, who gateway.Identity) {
	x.Authenticate(who)
	header := x.Upstream().Header
	set := func(name, value string) {
		if value == "" {
			delete(header, name)
			return
		}
		header[name] = []string{fieldValue(value)}
	}
	if who.Consumer != nil {
		set("X-Consumer-Id", who.Consumer.ID)
		set("X-Consumer-Custom-Id", who.Consumer.CustomID)
		set("X-Consumer-Username", who.Consumer.Username)
	}
	set("X-Credential-Identifier", who.Credential)
	if who.Anonymous {
		header["X-Anonymous-Consumer"] = []string{"true"}
	}
}

// fieldValue is a text as the value of a field: control characters, which could
// end it, become spaces (RFC 9110, 5.5).
func fieldValue(value string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, value)
}

// challenge is an answer 401 with a WWW-Authenticate field.
func challenge(value, message string) *gateway.Answer {
	answer := gateway.Refuse(http.StatusUnauthorized, message)
	answer.Header["Www-Authenticate"] = []string{value}
	return answer
}

// quoted is a text as a quoted-string (RFC 9110, 5.6.4), for realms.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(fieldValue(value)) + `"`
}
