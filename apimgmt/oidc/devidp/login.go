package devidp

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The cookies of a browser. One holds the session; the other ties the forms of
// pages to it.
const (
	sessionCookie = "DEVIDP_SESSION"
	formCookie    = "DEVIDP_FORM"
)

// authorize answers GET …/auth: with the login page, or at once for a browser
// that is logged in (RFC 6749 section 4.1.1).
func (h *handler) authorize(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	client, ok := h.clients[query.Get("client_id")]
	if !ok || !client.Browser {
		return h.errorPage(w, http.StatusBadRequest, "The application that sent you here is not known.")
	}
	if !client.returns(query.Get("redirect_uri")) {
		return h.errorPage(w, http.StatusBadRequest, "The address that the application wants you back at is not one of its own.")
	}
	asked := request{
		Client: client.ID, Redirect: query.Get("redirect_uri"), State: query.Get("state"), Nonce: query.Get(
			"nonce"), Scope: query.Get("scope"), Challenge: query.Get("code_challenge"),
	}
	if code, description := requestFault(client, query); code != "" {
		h.goBack(w, r, asked, url.Values{"error": {code}, "error_description": {description}})
		return nil
	}
	prompt := strings.Fields(query.Get("prompt"))
	s, err := h.browserSession(r)
	switch {
	case err != nil && !errors.Is(err, errNoSession):
		return err
	case err == nil && !slices.Contains(prompt, "login") && young(s, query.Get("max_age")):
		return h.goBackWithCode(w, r, asked, s)
	case slices.Contains(prompt, "none"):
		h.goBack(w, r, asked, url.Values{"error": {"login_required"}})
		return nil
	}
	return h.loginPage(w, r, http.StatusOK, asked, "", "")
}

// requestFault checks what the client is answered with if it is wrong.
func requestFault(client Client, query url.Values) (code, description string) {
	for name, values := range query {
		if len(values) > 1 {
			return "invalid_request", "duplicated parameter: " + name
		}
	}
	for _, name := range []string{"state", "nonce", "scope"} {
		if len(query.Get(name)) > 2000 {
			return "invalid_request", "Invalid parameter: " + name
		}
	}
	challenge, method := query.Get("code_challenge"), query.Get("code_challenge_method")
	switch {
	case query.Get("response_type") == "":
		return "invalid_request", "Missing parameter: response_type"
	case query.Get("response_type") != "code":
		return "unsupported_response_type", "Only the response type code is supported"
	case query.Get("response_mode") != "" && query.Get("response_mode") != "query":
		return "invalid_request", "Invalid parameter: response_mode"
	case challenge == "" && client.Public:
		return "invalid_request", "Missing parameter: code_challenge"
	case challenge == "" && method == "":
		return "", ""
	case method != "S256":
		return "invalid_request", "Invalid parameter: code challenge method is not matching the configured one"
	case len(challenge) != 43:
		return "invalid_request", "Invalid parameter: code_challenge"
	}
	return "", ""
}

// young reports whether a session began within max_age seconds.
func young(s *session, maxAge string) bool {
	seconds, err := strconv.ParseInt(maxAge, 10, 32)
	return err != nil || time.Since(s.Created) <= time.Duration(seconds)*time.Second
}

// goBackWithCode sends the browser back with a new code.
func (h *handler) goBackWithCode(w http.ResponseWriter, r *http.Request, asked request, s *session) error {
	text, err := h.codes.add(r.Context(), code{Request: asked, Session: s.ID})
	if err != nil {
		return err
	}
	h.goBack(w, r, asked, url.Values{"code": {text}, "session_state": {s.ID}})
	return nil
}

// goBack sends the browser back to the client, which is one that was checked.
func (h *handler) goBack(w http.ResponseWriter, r *http.Request, asked request, with url.Values) {
	where, _ := url.Parse(asked.Redirect)
	query := where.Query()
	for name, values := range with {
		query[name] = values
	}
	if asked.State != "" {
		query.Set("state", asked.State)
	}
	query.Set("iss", h.issuer) // RFC 9207
	where.RawQuery = query.Encode()
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, where.String(), http.StatusSeeOther)
}

// login answers the form of the login page.
func (h *handler) login(w http.ResponseWriter, r *http.Request) error {
	if !h.sameOrigin(r) || !h.guard.admit(clientAddress(r), time.Now()) {
		return h.errorPage(w, http.StatusForbidden,
			"The form did not come from this site, or too often. Go back to the application and begin again.")
	}
	fields, err := form(r)
	if err != nil {
		return h.errorPage(w, http.StatusBadRequest, "The form cannot be read.")
	}
	var asked request
	if !h.openForm("login", cookieValue(r, formCookie), fields.Get("request"), &asked) {
		return h.errorPage(w, http.StatusBadRequest,
			"The page is too old, or your browser takes no cookies. Go back to the application and begin again.")
	}
	client, ok := h.clients[asked.Client]
	if !ok || !client.returns(asked.Redirect) {
		return h.errorPage(w, http.StatusBadRequest, "The application that sent you here is not known.")
	}
	user, ok, err := h.authenticate(r.Context(), fields.Get("username"), fields.Get("password"), clientAddress(r))
	var wait *waitError
	if errors.As(err, &wait) {
		seconds := strconv.Itoa(int(math.Ceil(wait.after.Seconds())))
		w.Header().Set("Retry-After", seconds)
		return h.loginPage(w, r, http.StatusTooManyRequests, asked, fields.Get("username"), "Too many wrong passwords for this name or "+
			"from this address. The password was not checked. Try again in "+seconds+" s.")
	}
	if err != nil {
		return err
	}
	if !ok {
		return h.loginPage(w, r, http.StatusUnauthorized, asked, fields.Get("username"),
			"Invalid username or password. After several attempts you have to wait.")
	}
	if old, err := h.browserSession(r); err == nil {
		if err := h.book.end(r.Context(), old.ID); err != nil {
			return err
		}
	}
	secret := rand.Text()
	now := time.Now()
	s := &session{User: user.Name, Created: now, Used: now, Cookie: secretDigest(secret), Grants: []grant{}}
	if err := h.book.create(r.Context(), s); err != nil {
		return err
	}
	h.setCookie(w, sessionCookie, s.ID+"."+secret)
	return h.goBackWithCode(w, r, asked, s)
}

func secretDigest(secret string) string {
	digest := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(digest[:])
}

// browserSession returns the session of a browser, or errNoSession.
func (h *handler) browserSession(r *http.Request) (*session, error) {
	id, secret, _ := strings.Cut(cookieValue(r, sessionCookie), ".")
	s, err := h.book.get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if _, ok := h.users[s.User]; !ok || s.Cookie == "" || s.Cookie != secretDigest(secret) {
		return nil, errNoSession
	}
	return s, nil
}

func cookieValue(r *http.Request, name string) string {
	cookie, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	return cookie.Value
}

// setCookie sets a cookie for this realm, or removes it if the value is empty.
func (h *handler) setCookie(w http.ResponseWriter, name, value string) {
	where, _ := url.Parse(h.issuer)
	cookie := &http.Cookie{Name: name, Value: value, Path: where.Path + "/", HttpOnly: true,
		Secure: where.Scheme == "https", SameSite: http.SameSiteLaxMode}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// sameOrigin reports whether a form came from one of our pages, as far as the
// browser says.
func (h *handler) sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin := r.Header.Get("Origin")
	where, _ := url.Parse(h.config.BaseURL)
	return origin == "" || origin == where.Scheme+"://"+where.Host
}
