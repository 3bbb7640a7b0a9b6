package devidp

import (
	"errors"
	"net/http"
	"net/url"
	"time"
)

// farewell is where a logout leads, and whose session it ends.
type farewell struct {
	Session string `json:"session"`
	Client  string `json:"client,omitempty"`
	Back    string `json:"back,omitempty"` // checked
	State   string `json:"state,omitempty"`
}

// logout answers …/logout. A browser sends an ID token, or is asked
// (OpenID Connect RP-Initiated Logout). A client comes with a refresh token, as
// Keycloak's own adapters do.
func (h *handler) logout(w http.ResponseWriter, r *http.Request) error {
	fields := r.URL.Query()
	if r.Method == http.MethodPost {
		var err error
		if fields, err = form(r); err != nil {
			return err
		}
		if fields.Get("refresh_token") != "" {
			return h.clientLogout(w, r, fields)
		}
	}
	bye := farewell{Client: fields.Get("client_id"), State: fields.Get("state")}
	hinted := false
	if hint := fields.Get("id_token_hint"); hint != "" {
		var c claims
		// It may have expired; that it is ours is what counts.
		err := h.ring.open(r.Context(), hint, &c)
		if err != nil && !errors.Is(err, errToken) {
			return err
		}
		if err != nil || c.Kind != "ID" || c.Issuer != h.issuer || (bye.Client != "" && bye.Client != c.Party) {
			return h.errorPage(w, http.StatusBadRequest, "The application does not say rightly who is to be signed out.")
		}
		bye.Client = c.Party
		bye.Session = c.Session
		hinted = true
	}
	if back := fields.Get("post_logout_redirect_uri"); back != "" {
		client, ok := h.clients[bye.Client]
		if !ok || !client.returns(back) {
			return h.errorPage(w, http.StatusBadRequest, "The address that the application wants you back at is not one of its own.")
		}
		bye.Back = back
	}
	s, err := h.browserSession(r)
	switch {
	case err != nil && !errors.Is(err, errNoSession):
		return err
	case err == nil && !hinted:
		return h.logoutPage(w, r, s, bye)
	case err == nil && s.ID != bye.Session:
		return h.logoutPage(w, r, s, bye) // another user has logged in here meanwhile
	}
	return h.leave(w, r, bye)
}

// clientLogout ends the session of a refresh token.
func (h *handler) clientLogout(w http.ResponseWriter, r *http.Request, fields url.Values) error {
	client, err := h.authenticateClient(r, fields)
	if err != nil {
		return err
	}
	allowOrigin(w, r, client)
	old, err := h.refreshToken(client, fields.Get("refresh_token"))
	if err != nil {
		return err
	}
	if err := h.book.end(r.Context(), old.Session); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// logoutPage asks for confirmation, so that no other page can log users out.
func (h *handler) logoutPage(w http.ResponseWriter, r *http.Request, s *session, bye farewell) error {
	bye.Session = s.ID
	sealed, err := h.sealForm("logout", h.formToken(w, r), bye)
	if err != nil {
		return err
	}
	on := ""
	if back, err := url.Parse(bye.Back); err == nil && back.Host != "" {
		on = back.Scheme + "://" + back.Host
	}
	return h.show(w, http.StatusOK, on, page{
		Title: "Sign out", Action: h.issuer + "/login-actions/logout", Seal: sealed, Client: bye.Client,
		Text: "You are signed in as " + s.User + ". Do you want to sign out?", Button: "Sign out",
	})
}

// confirmLogout answers the form of the logout page.
func (h *handler) confirmLogout(w http.ResponseWriter, r *http.Request) error {
	fields, err := form(r)
	if err != nil {
		return h.errorPage(w, http.StatusBadRequest, "The form cannot be read.")
	}
	var bye farewell
	if !h.sameOrigin(r) || !h.openForm("logout", cookieValue(r, formCookie), fields.Get("request"), &bye) {
		return h.errorPage(w, http.StatusBadRequest, "The page is too old, or your browser takes no cookies.")
	}
	return h.leave(w, r, bye)
}

// leave ends the session, and its cookie.
func (h *handler) leave(w http.ResponseWriter, r *http.Request, bye farewell) error {
	if bye.Session != "" {
		if err := h.book.end(r.Context(), bye.Session); err != nil {
			return err
		}
	}
	h.setCookie(w, sessionCookie, "")
	if bye.Back == "" {
		return h.show(w, http.StatusOK, "", page{Title: "Signed out", Text: "You are signed out, " + time.Now().UTC().Format("15:04 UTC") + "."})
	}
	where, _ := url.Parse(bye.Back)
	if bye.State != "" {
		query := where.Query()
		query.Set("state", bye.State)
		where.RawQuery = query.Encode()
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, where.String(), http.StatusSeeOther)
	return nil
}
