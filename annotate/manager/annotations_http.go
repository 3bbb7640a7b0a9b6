package manager

import (
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/httpapi"
)

func viewAnnotation(mapping annotate.Mapping, req *http.Request) any {
	switch all := flag(req, "all"); {
	case all || flag(req, "header"):
		return mappingOf(mapping, all || flag(req, "rml"))
	}
	return struct{}{}
}

func (r *rest) listAnnotations(w http.ResponseWriter, req *http.Request) error {
	mappings, err := r.manager.annotations.List(req.Context())
	if err != nil {
		return annotationError(err, "")
	}
	views := map[string]any{}
	for id, mapping := range mappings {
		views[id] = viewAnnotation(mapping, req)
	}
	return httpapi.WriteJSON(w, views)
}

func (r *rest) getAnnotation(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("annotationId")
	mapping, err := r.manager.annotations.Get(req.Context(), id)
	if err != nil {
		return annotationError(err, id)
	}
	return httpapi.WriteJSON(w, viewAnnotation(mapping, req))
}

func (r *rest) addAnnotation(w http.ResponseWriter, req *http.Request) error {
	if r.manager.config.Documents == nil {
		return ErrStandalone // whatever the body is
	}
	data, err := httpapi.ReadBody(req, "application/json", maxBody)
	if err != nil {
		return err
	}
	mapping, err := decodeMapping(data)
	if err != nil {
		return err
	}
	id, err := r.manager.annotations.Add(req.Context(), mapping)
	if err != nil {
		return annotationError(err, "")
	}
	httpapi.WriteText(w, http.StatusOK, id)
	return nil
}

func (r *rest) removeAnnotation(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("annotationId")
	if err := r.manager.annotations.Remove(req.Context(), id); err != nil {
		return annotationError(err, id)
	}
	httpapi.WriteText(w, http.StatusOK, "Removed annotation with ID: "+id)
	return nil
}

// annotationError maps errors about an annotation to those of the REST contract.
func annotationError(err error, id string) error {
	if errors.Is(err, ErrAnnotationNotFound) {
		return &httpapi.Error{Status: http.StatusNotFound, Detail: "Annotation ID not found: No annotation with ID: " + id, Err: err}
	}
	if known := classify(err); known != nil {
		return known
	}
	return &httpapi.Error{Status: http.StatusInternalServerError, Detail: "Annotations management error: " + err.Error()}
}
