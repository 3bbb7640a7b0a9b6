package plugin

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// cookiePrefix begins the names of all cookies of this plugin.
const cookiePrefix = "enablers-oidc-"

// Browsers keep 4096 bytes a cookie, name and attributes included. What is longer
// is cut in parts.
const (
	longestCookie = 3800
	mostParts     = 4
	mostLogins    = 4
)

// cookies names what a browser keeps for one configuration.
type cookies struct {
	seal *sealer
	name string // of the configuration
}

// namePrefix begins names: over https browsers make sure that a cookie with __Host-
// was set by this host itself (RFC 6265bis section 4.1.3.2).
func (c *cookies) namePrefix(x *gateway.Exchange) string {
	if x.Scheme() == "https" {
		return "__Host-" + cookiePrefix + c.name
	}
	return cookiePrefix + c.name
}

func (c *cookies) loginName(x *gateway.Exchange, state string) string {
	digest := sha256.Sum256([]byte(state))
	return c.namePrefix(x) + "-login-" + hex.EncodeToString(digest[:8])
}

// cookie is one for the whole host.
func cookie(x *gateway.Exchange, name, value string, age time.Duration) string {
	made := http.Cookie{
		Name: name, Value: value, Path: "/", HttpOnly: true, Secure: x.Scheme() == "https", SameSite: http.SameSiteLaxMode,
		MaxAge: int(age / time.Second),
	}
	if age <= 0 {
		made.MaxAge = -1
	}
	return made.String()
}

// get returns a cookie; empty if none exists, or more than one.
func get(x *gateway.Exchange, name string) string {
	found := x.Request().CookiesNamed(name)
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}

// place is what a sealed value is bound to: its purpose, and the host.
func place(x *gateway.Exchange, purpose string) string { return purpose + " " + x.Host() }

// session returns the session of the browser, if it has one that counts.
func (c *cookies) session(x *gateway.Exchange, now time.Time) (*session, bool) {
	name := c.namePrefix(x)
	first := get(x, name)
	count, text, ok := strings.Cut(first, ".")
	parts, err := strconv.Atoi(count)
	if !ok || err != nil || parts < 1 || parts > mostParts {
		return nil, false
	}
	for i := 1; i < parts; i++ {
		part := get(x, name+"-"+strconv.Itoa(i))
		if part == "" {
			return nil, false
		}
		text += part
	}
	var s session
	if !c.seal.open(place(x, "session"), text, &s) || now.Unix() >= s.Until {
		return nil, false
	}
	return &s, true
}

// setSession returns the Set-Cookie values that keep a session. ok is false if it is
// too large.
func (c *cookies) setSession(x *gateway.Exchange, s *session, now time.Time) (lines []string, ok bool) {
	text, err := c.seal.seal(place(x, "session"), s)
	if err == nil && len(text) > longestCookie*mostParts && s.Refresh != "" {
		short := *s // it ends with the access token, then
		short.Refresh, short.Until = "", min(s.Until, s.Expires)
		s = &short
		text, err = c.seal.seal(place(x, "session"), s)
	}
	parts := (len(text) + longestCookie - 1) / longestCookie
	if err != nil || parts > mostParts {
		return nil, false
	}
	name, age := c.namePrefix(x), time.Unix(s.Until, 0).Sub(now)
	for i := range parts {
		part := text[i*longestCookie : min((i+1)*longestCookie, len(text))]
		if i == 0 {
			lines = append(lines, cookie(x, name, strconv.Itoa(parts)+"."+part, age))
			continue
		}
		lines = append(lines, cookie(x, name+"-"+strconv.Itoa(i), part, age))
	}
	return append(lines, c.expire(x, parts)...), true
}

// expire returns the Set-Cookie values that end the parts of a session from one on,
// as far as the browser has them.
func (c *cookies) expire(x *gateway.Exchange, from int) (lines []string) {
	for i := from; i < mostParts; i++ {
		name := c.namePrefix(x)
		if i > 0 {
			name += "-" + strconv.Itoa(i)
		}
		if len(x.Request().CookiesNamed(name)) > 0 {
			lines = append(lines, cookie(x, name, "", 0))
		}
	}
	return lines
}

// setLogin returns the Set-Cookie values that keep a login, and drop others when
// there are many that were never finished.
func (c *cookies) setLogin(x *gateway.Exchange, l *pending) ([]string, error) {
	text, err := c.seal.seal(place(x, "login"), l)
	if err != nil {
		return nil, err
	}
	lines := []string{cookie(x, c.loginName(x, l.State), text, loginTime)}
	var old []string
	for _, known := range x.Request().Cookies() {
		if strings.HasPrefix(known.Name, c.namePrefix(x)+"-login-") {
			old = append(old, cookie(x, known.Name, "", 0))
		}
	}
	if len(old) >= mostLogins {
		lines = append(lines, old...)
	}
	return lines, nil
}

// login returns the login that a state belongs to.
func (c *cookies) login(x *gateway.Exchange, state string, now time.Time) (*pending, bool) {
	var l pending
	if state == "" || !c.seal.open(place(x, "login"), get(x, c.loginName(x, state)), &l) || l.State != state || now.Unix() >= l.Until {
		return nil, false
	}
	return &l, true
}

// removeCookies keeps the cookies of this plugin from the service, which could log
// in with them as its users elsewhere.
func removeCookies(x *gateway.Exchange) {
	header := x.Upstream().Header
	lines := header["Cookie"]
	if !strings.Contains(strings.Join(lines, ";"), cookiePrefix) {
		return
	}
	var kept []string
	for _, line := range lines {
		for pair := range strings.SplitSeq(line, ";") {
			pair = strings.TrimSpace(pair)
			if pair != "" && !strings.HasPrefix(strings.TrimPrefix(pair, "__Host-"), cookiePrefix) {
				kept = append(kept, pair)
			}
		}
	}
	if len(kept) == 0 {
		delete(header, "Cookie")
		return
	}
	header["Cookie"] = []string{strings.Join(kept, "; ")}
}
