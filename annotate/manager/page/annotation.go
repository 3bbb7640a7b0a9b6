package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/annotate/manager/rest"
	"github.com/iotenablers/enablers/internal/shell"
)

// annotationView is a stored annotation.
type annotationView struct {
	ID, Name string
	Mapping  annotate.Mapping
	Fault    string // why it cannot be read
}

func viewOfAnnotation(id string, m annotate.Mapping) annotationView {
	return annotationView{ID: id, Name: cmp.Or(m.Name, id), Mapping: m}
}

// storedAnnotations returns the stored annotations after an identifier, at most so many, and
// whether there are more.
func (p *pages) storedAnnotations(ctx context.Context, after string, limit int) (views []annotationView, more bool, err error) {
	stored, more, err := p.manager.Annotations().Page(ctx, after, limit)
	for _, a := range stored {
		view := viewOfAnnotation(a.ID, a.Mapping)
		if a.Err != nil {
			view.Fault = sentence(a.Err)
		}
		views = append(views, view)
	}
	return views, more, err
}

// annotations shows the stored annotations.
func (p *pages) annotations(w http.ResponseWriter, r *http.Request) error {
	view := struct {
		shell.Frame
		Stored       []annotationView
		After, Next  string
		IsStandalone bool
	}{Frame: p.part.Frame(r, "Annotations", shell.Crumb{Name: "Annotations", Href: "annotations"}), After: r.URL.Query().Get("after")}
	stored, more, err := p.storedAnnotations(r.Context(), view.After, perPage)
	if err != nil && !errors.Is(err, manager.ErrStandalone) {
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
	m, err := p.manager.Annotations().Get(r.Context(), id)
	if err != nil {
		return rest.AnnotationError(err, id)
	}
	view := struct {
		shell.Frame
		Annotation annotationView
	}{Annotation: viewOfAnnotation(id, m)}
	view.Frame = p.part.Frame(r, view.Annotation.Name, shell.Crumb{Name: "Annotations", Href: "annotations"},
		shell.Crumb{Name: view.Annotation.Name, Href: "annotations/" + url.PathEscape(id)})
	return p.part.Show(w, r, http.StatusOK, "annotation.html", &view)
}

// removeAnnotation removes a stored annotation.
func (p *pages) removeAnnotation(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := p.manager.Annotations().Remove(r.Context(), id); err != nil {
		return rest.AnnotationError(err, id)
	}
	return shell.SeeOther(w, "../../annotations", "The annotation is removed. Channels that were created from it keep their copy.")
}
