package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/shell"
)

// annotationView is a stored annotation.
type annotationView struct {
	ID, Name string
	Mapping  annotate.Mapping
	Fault    string // why it cannot be read
}

// page returns the stored mappings behind an identifier, at most so many, and whether there
// are more.
func (a *Annotations) page(ctx context.Context, after string, limit int) (page []annotationView, more bool, err error) {
	if a.documents == nil {
		return nil, false, ErrStandalone
	}
	if after != "" {
		after = annotationPrefix + after
	}
	documents, err := a.documents.List(ctx, annotationPrefix, after, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list annotations: %w", err)
	}
	for _, document := range documents[:min(len(documents), limit)] {
		id := strings.TrimPrefix(document.Key, annotationPrefix)
		mapping, err := decodeMapping(document.Data)
		view := annotationView{ID: id, Name: cmp.Or(mapping.Name, id), Mapping: mapping}
		if err != nil {
			view.Fault = sentence(err)
		}
		page = append(page, view)
	}
	return page, len(documents) > limit, nil
}

// annotations shows the stored annotations.
func (p *pages) annotations(w http.ResponseWriter, r *http.Request) error {
	view := struct {
		shell.Frame
		Stored       []annotationView
		After, Next  string
		IsStandalone bool
	}{Frame: p.part.Frame(r, "Annotations", shell.Crumb{Name: "Annotations", Href: "annotations"}), After: r.URL.Query().Get("after")}
	stored, more, err := p.manager.annotations.page(r.Context(), view.After, perPage)
	if err != nil && !errors.Is(err, ErrStandalone) {
		return err
	}
	view.Stored, view.IsStandalone = stored, err != nil
	if more {
		view.Next = stored[len(stored)-1].ID
	}
	return p.part.Show(w, r, http.StatusOK, "annotations.html", &view)
}

// annotation shows a stored annotation.
func (p *pages) annotation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	m, err := p.manager.annotations.Get(r.Context(), id)
	if err != nil {
		return annotationError(err, id)
	}
	view := struct {
		shell.Frame
		Annotation annotationView
	}{Annotation: annotationView{ID: id, Name: cmp.Or(m.Name, id), Mapping: m}}
	view.Frame = p.part.Frame(r, view.Annotation.Name, shell.Crumb{Name: "Annotations", Href: "annotations"},
		shell.Crumb{Name: view.Annotation.Name, Href: "annotations/" + url.PathEscape(id)})
	return p.part.Show(w, r, http.StatusOK, "annotation.html", &view)
}

// removeAnnotation removes a stored annotation.
func (p *pages) removeAnnotation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.manager.annotations.Remove(r.Context(), id); err != nil {
		return annotationError(err, id)
	}
	return shell.SeeOther(w, "../../annotations", "The annotation is removed. Channels that were made from it keep their copy.")
}
