package devidp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// maxForm is the greatest size of a form in bytes; it holds three tokens.
const maxForm = 64 << 10

// Handler serves the realm, below the path of Config.BaseURL. What a request's
// connection comes from is its address: a proxy before it makes all clients one
// address, so leave it out, or set Config.TokensPerSecond to suit.
func (p *Provider) Handler() http.Handler {
	base, _ := url.Parse(p.config.BaseURL) // checked when it was opened
	api := httpapi.NewHandler((&handler{p}).routes(), &httpapi.Options{
		WriteError: writeError, Hosts: append([]string{base.Hostname()}, p.config.Hosts...), Logger: p.config.Logger,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		api.ServeHTTP(w, r)
	})
}

// handler is the HTTP interface of a Provider.
type handler struct{ *Provider }

func (h *handler) routes() []httpapi.Route {
	base, _ := url.Parse(h.config.BaseURL) // checked when it was opened
	realm := base.Path + "/realms/{realm}"
	protocol := realm + "/protocol/openid-connect"
	routes := []httpapi.Route{
		{Pattern: "GET " + realm + "/.well-known/openid-configuration", Func: h.discovery},
		{Pattern: "GET " + protocol + "/certs", Func: h.certs},
		{Pattern: "POST " + protocol + "/token", Func: h.token},
		{Pattern: "POST " + protocol + "/token/introspect", Func: h.introspect},
		{Pattern: "GET " + protocol + "/userinfo", Func: h.userinfo},
		{Pattern: "POST " + protocol + "/userinfo", Func: h.userinfo},
		{Pattern: "GET " + protocol + "/auth", Func: h.authorize},
		{Pattern: "POST " + realm + "/login-actions/authenticate", Func: h.login},
		{Pattern: "GET " + protocol + "/logout", Func: h.logout},
		{Pattern: "POST " + protocol + "/logout", Func: h.logout},
		{Pattern: "POST " + realm + "/login-actions/logout", Func: h.confirmLogout},
		{Pattern: "GET " + realm + "/login-actions/style.css", Func: style},
	}
	for _, path := range []string{"/token", "/userinfo", "/logout", "/certs"} {
		routes = append(routes, httpapi.Route{Pattern: "OPTIONS " + protocol + path, Func: h.preflight})
	}
	for i, route := range routes {
		routes[i].Undocumented = true
		// The protocol is for pages and forms of applications at other origins, which
		// allowOrigin names; the forms of our own pages are checked by sameOrigin.
		routes[i].Origins = httpapi.AnyPages
		routes[i].Func = h.inRealm(route.Func)
	}
	return routes
}

// inRealm refuses other realms.
func (h *handler) inRealm(next httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.PathValue("realm") != h.config.Realm.Name {
			return &httpapi.Error{Status: http.StatusNotFound, Err: &failure{Code: "Realm does not exist"}}
		}
		return next(w, r)
	}
}

// failure is an error in Keycloak's words.
type failure struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

func (f *failure) Error() string { return f.Code + ": " + f.Description }

// refuse returns an error of the protocol.
func refuse(status int, code, description string) error {
	return &httpapi.Error{Status: status, Detail: code, Err: &failure{Code: code, Description: description}}
}

// writeError answers with JSON as Keycloak does.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	var said *failure
	if !errors.As(e.Err, &said) {
		said = &failure{Code: fmt.Sprintf("HTTP %d %s", e.Status, http.StatusText(e.Status)), Description: e.Detail}
	}
	writeJSON(w, e.Status, said)
}

func writeJSON(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // fails only if the client has gone
}

// clientAddress is what attempts are counted by.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// form reads a form, of which no field may be given twice (RFC 6749 section 3.2).
func form(r *http.Request) (url.Values, error) {
	if err := r.ParseForm(); err != nil {
		return nil, refuse(http.StatusBadRequest, "invalid_request", "The form cannot be read")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, refuse(http.StatusBadRequest, "invalid_request", "duplicated parameter: "+name)
		}
	}
	return r.PostForm, nil
}

// authenticateClient authenticates the client of a request. Public ones just
// say so.
func (h *handler) authenticateClient(r *http.Request, fields url.Values) (Client, error) {
	id, secret := fields.Get("client_id"), fields.Get("client_secret")
	if name, password, ok := r.BasicAuth(); ok {
		var err error
		if id, err = url.QueryUnescape(name); err == nil {
			secret, err = url.QueryUnescape(password)
		}
		if err != nil {
			id, secret = name, password // not escaped, as section 2.3.1 wants it
		}
	}
	client, ok := h.clients[id]
	switch {
	case !ok:
		return Client{}, refuse(http.StatusUnauthorized, "invalid_client", "Invalid client or Invalid client credentials")
	case !client.Public && !prove(client, secret):
		return Client{}, refuse(http.StatusUnauthorized, "unauthorized_client", "Invalid client or Invalid client credentials")
	}
	return client, nil
}

// allowOrigin lets pages of the client read the answer.
func allowOrigin(w http.ResponseWriter, r *http.Request, client Client) {
	w.Header().Add("Vary", "Origin")
	if origin := r.Header.Get("Origin"); origin != "" && slices.Contains(client.origins(), origin) {
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true") // which some clients require; no cookie is read
	}
}

// preflight answers the preflight request of a browser from another origin.
func (h *handler) preflight(w http.ResponseWriter, r *http.Request) error {
	for _, client := range h.clients {
		if !slices.Contains(client.origins(), r.Header.Get("Origin")) {
			continue
		}
		allowOrigin(w, r, client)
		w.Header().Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
		w.Header().Set("Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, X-Requested-With")
		w.Header().Set("Access-Control-Max-Age", "3600")
		break
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// note logs an event of a login session.
func (h *handler) note(ctx context.Context, text string, s *session, client string) {
	h.config.Logger.LogAttrs(ctx, slog.LevelWarn, text, slog.String("user", s.User), slog.String("session", s.ID),
		slog.String("client", client))
}

// bearer returns the token of an Authorization header.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
