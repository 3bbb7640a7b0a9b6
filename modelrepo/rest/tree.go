package rest

import (
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// readListing reads the parameters of a list. Without any it returns nil, for the whole
// set.
func readListing(req *http.Request) (*modelrepo.Listing, error) { return parseListing(req.URL.Query()) }

// parseListing is readListing for a query.
func parseListing(query url.Values) (*modelrepo.Listing, error) {
	l := &modelrepo.Listing{Page: 1, PageSize: modelrepo.DefaultPageSize, SortBy: query.Get("sort_by")}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if field, ok := strings.CutPrefix(name, "f."); ok {
			for _, value := range query[name] {
				switch field {
				case "version", "latestVersion", "defaultFormat": // tags, which have no spaces
					value = strings.ReplaceAll(value, " ", "+")
				}
				l.Filters = append(l.Filters, modelrepo.Filter{Field: field, Value: value})
			}
		}
	}
	isList := len(l.Filters) > 0
	for _, name := range []string{"page", "page_size", "sort_by", "order"} {
		isList = isList || query.Has(name)
	}
	if !isList {
		return nil, nil
	}
	if query.Has("sort_by") && l.SortBy == "" {
		return nil, web.Malformed("Invalid sorting key '' in the 'sort_by' parameter.")
	}
	switch order := query.Get("order"); {
	case !query.Has("order") || order == wire.Ascending:
	case order == wire.Descending:
		l.Descending = true
	default:
		return nil, web.Malformed("Sort order must be 'ascending' or 'descending' in the 'order' parameter.")
	}
	for _, parameter := range []struct {
		name string
		to   *int
		most int
	}{{"page", &l.Page, min(1<<31, math.MaxInt)}, {"page_size", &l.PageSize, modelrepo.MaxPageSize}} {
		if !query.Has(parameter.name) {
			continue
		}
		number, err := strconv.Atoi(query.Get(parameter.name))
		if err != nil || number < 1 || number > parameter.most {
			text := fmt.Sprintf("The '%s' parameter must be an integer from 1 to %d.", parameter.name, parameter.most)
			return nil, web.Malformed(text)
		}
		*parameter.to = number
	}
	return l, nil
}

// done answers with a message, or returns the error.
func done(w http.ResponseWriter, err error, format string, args ...any) error {
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, wire.Success{Message: fmt.Sprintf(format, args...)})
}

// got answers with a document, or returns the error.
func got(w http.ResponseWriter, document any, err error) error {
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, document)
}

func (r *rest) listNamespaces(w http.ResponseWriter, req *http.Request) error {
	listing, err := readListing(req)
	if err != nil {
		return err
	}
	if listing == nil {
		return writeList(r, w, req, nil, "namespaces", r.store.EachNamespace(req.Context()))
	}
	set, err := r.store.Namespaces(req.Context(), listing)
	return got(w, wire.Root{Namespaces: set}, err)
}

func (r *rest) createNamespace(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	with, err := readNamespace(w, req)
	if err == nil {
		err = r.store.CreateNamespace(req.Context(), at.Namespace, with)
	}
	return done(w, err, "Created namespace '%s'.", at)
}

func (r *rest) getNamespace(w http.ResponseWriter, req *http.Request) error {
	listing, err := readListing(req)
	if err != nil {
		return err
	}
	if listing == nil {
		namespace, models, err := r.store.EachModel(req.Context(), web.RequestPath(req).Namespace)
		if err != nil {
			return err
		}
		return writeList(r, w, req, namespace, "models", models)
	}
	namespace, err := r.store.Namespace(req.Context(), web.RequestPath(req).Namespace, listing)
	return got(w, namespace, err)
}

func (r *rest) updateNamespace(w http.ResponseWriter, req *http.Request) error {
	var to modelrepo.NamespaceUpdate
	return r.patch(w, req, (*namespaceBody)(&to), func(at modelrepo.Path) (bool, error) {
		return r.store.UpdateNamespace(req.Context(), at.Namespace, to)
	})
}

func (r *rest) deleteNamespace(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	return done(w, r.store.DeleteNamespace(req.Context(), at.Namespace), "Deleted namespace '%s'.", at)
}

func (r *rest) createModel(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	var with modelrepo.ModelUpdate
	_, err := readUpdate(w, req, (*modelBody)(&with).fields())
	if err == nil {
		err = r.store.CreateModel(req.Context(), at, with)
	}
	return done(w, err, "Created model '%s'.", at)
}

func (r *rest) getModel(w http.ResponseWriter, req *http.Request) error {
	listing, err := readListing(req)
	if err != nil {
		return err
	}
	if listing == nil {
		model, versions, err := r.store.EachVersion(req.Context(), web.RequestPath(req))
		if err != nil {
			return err
		}
		return writeList(r, w, req, model, "versions", versions)
	}
	model, err := r.store.Model(req.Context(), web.RequestPath(req), listing)
	return got(w, model, err)
}

func (r *rest) updateModel(w http.ResponseWriter, req *http.Request) error {
	var to modelrepo.ModelUpdate
	return r.patch(w, req, (*modelBody)(&to),
		func(at modelrepo.Path) (bool, error) { return r.store.UpdateModel(req.Context(), at, to) })
}

// patch answers a PATCH.
func (r *rest) patch(
	w http.ResponseWriter, req *http.Request, to updateBody, update func(modelrepo.Path) (bool, error),
) error {
	at := web.RequestPath(req)
	present, err := readUpdate(w, req, to.fields())
	switch {
	case err != nil:
		return err
	case !present:
		return web.Malformed("Request body is required.")
	}
	changed, err := update(at)
	if err != nil {
		return err
	}
	wire.SetResult(w.Header(), wire.Changed, changed)
	kind := at.Kind()
	switch {
	case to.empty():
		return done(w, nil, "No updates requested.")
	case !changed:
		return done(w, nil, "%s '%s' was up-to-date, no update needed.", strings.ToUpper(kind[:1])+kind[1:], at)
	}
	return done(w, nil, "Updated %s '%s'.", kind, at)
}

func (r *rest) deleteModel(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	return done(w, r.store.DeleteModel(req.Context(), at), "Deleted model '%s'.", at)
}

func (r *rest) createVersion(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	var with modelrepo.VersionUpdate
	_, err := readUpdate(w, req, (*versionBody)(&with).fields())
	if err == nil {
		err = r.store.CreateVersion(req.Context(), at, with)
	}
	return done(w, err, "Created model version '%s'.", at)
}

func (r *rest) getVersion(w http.ResponseWriter, req *http.Request) error {
	version, err := r.store.Version(req.Context(), web.RequestPath(req))
	return got(w, version, err)
}

func (r *rest) updateVersion(w http.ResponseWriter, req *http.Request) error {
	var to modelrepo.VersionUpdate
	return r.patch(w, req, (*versionBody)(&to),
		func(at modelrepo.Path) (bool, error) { return r.store.UpdateVersion(req.Context(), at, to) })
}

func (r *rest) deleteVersion(w http.ResponseWriter, req *http.Request) error {
	at := web.RequestPath(req)
	force := req.URL.Query().Get("force") == "1"
	removed, err := r.store.RemoveVersion(req.Context(), at, &modelrepo.RemoveOptions{Force: force})
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, wire.Removed{
		Success: wire.Success{Message: fmt.Sprintf("Deleted model version '%s'.", at), Warnings: web.RemovalWarnings(at, removed)},
		Aliases: removed.Aliases, WasLatest: removed.WasLatest,
	})
}
