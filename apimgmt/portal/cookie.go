package portal

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/apimgmt/internal/cookies"
)

// The names of the cookies. Over https they are bound to the host (RFC 6265bis,
// 4.1.3.2).
const (
	sessionCookie = "enablers-portal"
	loginCookie   = "enablers-portal-login"
)

func (l *ownLogin) cookieName(name string) string {
	if l.secure {
		return "__Host-" + name
	}
	return name
}

// setCookie gives the browser a value, or takes it away if it is empty. Pages
// cannot read it, and requests that other sites make do not have it, except for
// links that a user follows.
func (l *ownLogin) setCookie(w http.ResponseWriter, name, value string, age time.Duration) {
	cookie := &http.Cookie{Name: l.cookieName(name), Value: value, Path: "/", HttpOnly: true, Secure: l.secure,
		SameSite: http.SameSiteLaxMode, MaxAge: int(age / time.Second)}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

func (l *ownLogin) cookie(r *http.Request, name string) string {
	cookie, err := r.Cookie(l.cookieName(name))
	if err != nil {
		return ""
	}
	return cookie.Value
}

// sealed is a value that only this process can read or make, for a purpose.
func (l *ownLogin) sealed(purpose string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(l.seal.Seal(nil, nil, text, []byte(purpose))), nil
}

// open reads what sealed has made.
func (l *ownLogin) open(purpose, sealed string, value any) bool {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return false
	}
	text, err := l.seal.Open(nil, nil, data, []byte(purpose))
	return err == nil && json.Unmarshal(text, value) == nil
}

// isOurs reports whether a cookie of that name is the portal's or that of the gateway's
// administration page, or the name begins with one of the prefixes.
func isOurs(name string, prefixes []string) bool {
	name = strings.TrimPrefix(name, "__Host-")
	return name == sessionCookie || name == loginCookie || name == cookies.Admin ||
		slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
