package portal

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"github.com/iotenablers/enablers/apimgmt"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/internal/shell"
)

// apiView is the page of an enabler.
type apiView struct {
	head
	API      apimgmt.Record
	Shown    apimgmt.Version // of the versions, the one that is shown
	About    template.HTML   // sanitised
	Routes   []apimgmt.Route
	Warnings []string
	Gateway  string // where the paths of the version are
	Origin   string // of the gateway
	Document string // address of the definition
	Next     []apimgmt.State
	Trusted  bool // whether the service may get the visitor's token without being asked
}

// api answers with the page of an enabler: its versions, and the documentation of
// one of them.
func (p *Portal) api(w http.ResponseWriter, r *http.Request, v *visitor) error {
	record, err := p.config.Publisher.Get(r.Context(), r.PathValue("enabler"))
	if err != nil {
		return err
	}
	asked := cmp.Or(r.URL.Query().Get("version"), record.Version.Version)
	version, err := p.config.Publisher.GetVersion(r.Context(), record.Enabler, asked)
	if err != nil {
		return err
	}
	slices.Reverse(record.Versions) // newest first
	view := apiView{
		head: p.head(r, record.Enabler, v), API: record, Shown: version.Version, Routes: version.Routes, Warnings: version.Warnings,
		Gateway: p.config.GatewayURL + version.Path, Origin: p.config.GatewayURL,
		About: p.texts.render(version.About),
		Document: shell.Root(r) + (&url.URL{
			Path: apiPath(record.Enabler) + "/definition", RawQuery: url.Values{"version": {asked}}.Encode(),
		}).String(),
		Next: version.State.Next(),
		// A name of no one is not the visitor's either.
		Trusted: version.UploadedBy != "" && (version.UploadedBy == v.User || slices.Contains(p.config.Own, version.UploadedBy)),
	}
	view.Policy = p.policy(true)
	return p.show(w, r, http.StatusOK, "api.html", &view)
}

// apiPath is the path of an enabler's page from the root of the portal, not escaped.
func apiPath(enabler string) string { return "apis/" + enabler }

// token answers a script that is about to send a request through the gateway. A
// page elsewhere cannot do that: the answer has no CORS fields, and the request needs a
// header field that would have to be allowed.
func (p *Portal) token(w http.ResponseWriter, r *http.Request, v *visitor) error {
	if r.Header.Get(partHeader) == "" {
		return &httpapi.Error{Status: http.StatusForbidden, Detail: "Tokens are for the portal's own pages."}
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, struct {
		AccessToken string `json:"access_token"`
	}{v.token})
}
