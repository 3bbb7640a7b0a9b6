package shell

import (
	"encoding/base64"
	"net/http"
	"strings"
	"unicode/utf8"
)

// noticeCookie carries notices from an action to the page that a browser opens next.
const noticeCookie = "enablers-notice"

// longestNotice is in bytes; browsers keep cookies of 4,096.
const longestNotice = 1500

// Notice is something to say about the last action.
type Notice struct {
	// Text is a sentence.
	Text string
	// IsError reports that the action failed.
	IsError bool
}

// SeeOther ends an action: the browser opens the page at the address, which shows the text
// once. An empty text is not shown. The address is relative to that of the request.
func SeeOther(w http.ResponseWriter, to, text string) error {
	if text != "" {
		setNotice(w, Notice{Text: text}, 60)
	}
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func setNotice(w http.ResponseWriter, n Notice, age int) {
	value := ""
	if age > 0 {
		value = base64.RawURLEncoding.EncodeToString([]byte(shorten(n.Text)))
	}
	http.SetCookie(w, &http.Cookie{Name: noticeCookie, Value: value, Path: "/", MaxAge: age,
		HttpOnly: true, SameSite: http.SameSiteStrictMode})
}

// takeNotice returns the notice of the last action, and has the browser forget it.
func takeNotice(w http.ResponseWriter, r *http.Request) []Notice {
	cookie, err := r.Cookie(noticeCookie)
	if err != nil || cookie.Value == "" {
		return nil
	}
	setNotice(w, Notice{}, -1)
	text, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || len(text) == 0 {
		return nil
	}
	return []Notice{{Text: shorten(string(text))}}
}

// shorten returns a text that fits into a cookie.
func shorten(text string) string {
	if len(text) > longestNotice {
		end := longestNotice
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return strings.ToValidUTF8(text, "�")
}
