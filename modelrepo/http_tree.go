package modelrepo

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// pathOf is what the request's path names.
func pathOf(req *http.Request) Path {
	return Path{Namespace: req.PathValue("namespace"), Model: req.PathValue("model"), Version: req.PathValue("version")}
}

// listingOf reads the paging parameters. Without any the set is whole.
func listingOf(req *http.Request) (*Listing, error) {
	query := req.URL.Query()
	if !query.Has("page") && !query.Has("page_size") {
		return nil, nil
	}
	l := &Listing{Page: 1, PageSize: DefaultPageSize}
	for _, parameter := range []struct {
		name string
		to   *int
		most int
	}{{"page", &l.Page, 1 << 31}, {"page_size", &l.PageSize, MaxPageSize}} {
		if !query.Has(parameter.name) {
			continue
		}
		number, err := strconv.Atoi(query.Get(parameter.name))
		if err != nil || number < 1 || number > parameter.most {
			return nil, malformed(fmt.Sprintf("The '%s' parameter must be an integer from 1 to %d.", parameter.name, parameter.most))
		}
		*parameter.to = number
	}
	return l, nil
}

// done answers with a sentence, unless there is an error.
func done(w http.ResponseWriter, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, success{Message: fmt.Sprintf(format, args...)})
}

// got answers with what was read, unless there is an error.
func got(w http.ResponseWriter, document any, err error) error {
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, document)
}

func (r *rest) listNamespaces(w http.ResponseWriter, req *http.Request) error {
	listing, err := listingOf(req)
	if err != nil {
		return err
	}
	set, err := r.store.Namespaces(req.Context(), listing)
	return got(w, rootInfo{set}, err)
}

// rootInfo is the RootInfoClientModel of the interface.
type rootInfo struct {
	Namespaces Set[Namespace] `json:"namespaces"`
}

func (r *rest) createNamespace(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	return done(w, r.store.CreateNamespace(req.Context(), at.Namespace), "Created namespace '%s'.", at)
}

func (r *rest) getNamespace(w http.ResponseWriter, req *http.Request) error {
	listing, err := listingOf(req)
	if err != nil {
		return err
	}
	namespace, err := r.store.Namespace(req.Context(), pathOf(req).Namespace, listing)
	return got(w, namespace, err)
}

func (r *rest) deleteNamespace(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	return done(w, r.store.DeleteNamespace(req.Context(), at.Namespace), "Deleted namespace '%s'.", at)
}

func (r *rest) createModel(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	latest, _, err := readUpdate(w, req, "latestVersion")
	if err == nil {
		err = r.store.CreateModel(req.Context(), at, ModelUpdate{LatestVersion: latest})
	}
	return done(w, err, "Created model '%s'.", at)
}

func (r *rest) getModel(w http.ResponseWriter, req *http.Request) error {
	listing, err := listingOf(req)
	if err != nil {
		return err
	}
	model, err := r.store.Model(req.Context(), pathOf(req), listing)
	return got(w, model, err)
}

func (r *rest) updateModel(w http.ResponseWriter, req *http.Request) error {
	return r.patch(w, req, "latestVersion", func(at Path, value string) (bool, error) {
		return r.store.UpdateModel(req.Context(), at, ModelUpdate{LatestVersion: value})
	})
}

// patch answers a PATCH of the one field that there is to change.
func (r *rest) patch(w http.ResponseWriter, req *http.Request, field string, update func(Path, string) (bool, error)) error {
	at := pathOf(req)
	value, present, err := readUpdate(w, req, field)
	switch {
	case err != nil:
		return err
	case !present:
		return malformed("Request body is required.")
	}
	changed, err := update(at, value)
	switch {
	case value == "":
		return done(w, err, "No updates requested.")
	case !changed:
		return done(w, err, "%s '%s' was up-to-date, no update needed.", at.title(), at)
	}
	return done(w, err, "Updated %s '%s'.", at.kind(), at)
}

func (r *rest) deleteModel(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	return done(w, r.store.DeleteModel(req.Context(), at), "Deleted model '%s'.", at)
}

func (r *rest) createVersion(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	format, _, err := readUpdate(w, req, "defaultFormat")
	if err == nil {
		err = r.store.CreateVersion(req.Context(), at, VersionUpdate{DefaultFormat: format})
	}
	return done(w, err, "Created model version '%s'.", at)
}

func (r *rest) getVersion(w http.ResponseWriter, req *http.Request) error {
	version, err := r.store.Version(req.Context(), pathOf(req))
	return got(w, version, err)
}

func (r *rest) updateVersion(w http.ResponseWriter, req *http.Request) error {
	return r.patch(w, req, "defaultFormat", func(at Path, value string) (bool, error) {
		return r.store.UpdateVersion(req.Context(), at, VersionUpdate{DefaultFormat: value})
	})
}

func (r *rest) deleteVersion(w http.ResponseWriter, req *http.Request) error {
	at := pathOf(req)
	return done(w, r.store.DeleteVersion(req.Context(), at), "Deleted model version '%s'.", at)
}
