package rest

import (
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/internal/channelform"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func viewAnnotation(mapping annotate.Mapping, query url.Values) any {
	switch all := flag(query, "all"); {
	case all || flag(query, "header"):
		return channelform.MappingOf(mapping, all || flag(query, "rml"))
	}
	return struct{}{}
}

func (r *rest) listAnnotations(w http.ResponseWriter, req *http.Request) error {
	mappings, err := r.manager.Annotations().List(req.Context())
	if err != nil {
		return AnnotationError(err, "")
	}
	views, query := map[string]any{}, req.URL.Query()
	for id, mapping := range mappings {
		views[id] = viewAnnotation(mapping, query)
	}
	return httpapi.WriteJSON(w, views)
}

func (r *rest) getAnnotation(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("annotationId")
	mapping, err := r.manager.Annotations().Get(req.Context(), id)
	if err != nil {
		return AnnotationError(err, id)
	}
	return httpapi.WriteJSON(w, viewAnnotation(mapping, req.URL.Query()))
}

func (r *rest) addAnnotation(w http.ResponseWriter, req *http.Request) error {
	if r.manager.Config().Documents == nil {
		return manager.ErrStandalone // whatever the body is
	}
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	mapping, err := channelform.DecodeMapping(data)
	if err != nil {
		return err
	}
	id, err := r.manager.Annotations().Add(req.Context(), mapping)
	if err != nil {
		return AnnotationError(err, "")
	}
	httpapi.WriteText(w, http.StatusOK, id)
	return nil
}

func (r *rest) removeAnnotation(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("annotationId")
	if err := r.manager.Annotations().Remove(req.Context(), id); err != nil {
		return AnnotationError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Removed annotation with ID: "+id)
	return nil
}
