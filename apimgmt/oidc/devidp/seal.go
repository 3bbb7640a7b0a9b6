package devidp

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// request is the parameters of a client for a login.
type request struct {
	Client    string `json:"client"`
	Redirect  string `json:"redirect"`
	State     string `json:"state,omitempty"`
	Nonce     string `json:"nonce,omitempty"`
	Scope     string `json:"scope,omitempty"`
	Challenge string `json:"challenge,omitempty"`
}

// formTTL is the lifetime of a page that was shown.
const formTTL = 30 * time.Minute

// sealForm puts what a page must send back into a hidden field. It holds for the
// browser with that cookie only, so that no other page can make one (login CSRF).
func (h *handler) sealForm(purpose, cookie string, value any) (string, error) {
	text, err := json.Marshal(struct {
		Until time.Time `json:"until"`
		Value any       `json:"value"`
	}{time.Now().Add(formTTL), value})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(h.mac(purpose, cookie, text)), nil
}

// openForm reads what sealForm made for the same purpose and browser.
func (h *handler) openForm(purpose, cookie, sealed string, into any) bool {
	encoded, sum, _ := strings.Cut(sealed, ".")
	text, err := base64.RawURLEncoding.DecodeString(encoded)
	if err != nil {
		return false
	}
	got, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || cookie == "" || !hmac.Equal(got, h.mac(purpose, cookie, text)) {
		return false
	}
	content := struct {
		Until time.Time `json:"until"`
		Value any       `json:"value"`
	}{Value: into}
	return json.Unmarshal(text, &content) == nil && time.Now().Before(content.Until)
}

func (h *handler) mac(purpose, cookie string, text []byte) []byte {
	sum := hmac.New(sha256.New, h.ring.sealing())
	for _, part := range [][]byte{[]byte(purpose), []byte(cookie), text} {
		digest := sha256.Sum256(part) // so that parts cannot run into each other
		sum.Write(digest[:])
	}
	return sum.Sum(nil)
}
