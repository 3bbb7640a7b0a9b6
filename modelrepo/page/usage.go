package page

import (
	"net/http"

	"github.com/iotenablers/enablers/internal/shell"
	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/web"
)

// usageView is the page about what is stored and what fits.
type usageView struct {
	shell.Frame
	At     modelrepo.Path // the namespace, or nothing for the repository
	Usage  modelrepo.Usage
	Limits modelrepo.Limits
	// The following are of the repository only.
	Namespaces    int64
	Stats         modelrepo.Stats
	UploadedBytes int64
}

func (p *pages) usage(w http.ResponseWriter, r *http.Request) error {
	at := web.RequestPath(r)
	view := &usageView{Frame: p.part.Frame(r, "Usage", trailTo(at)...), At: at, Limits: p.store.Limits()}
	var err error
	if view.Usage, err = p.store.Usage(r.Context(), at.Namespace); err != nil {
		return err
	}
	if at.Namespace == "" {
		found, err := p.store.Namespaces(r.Context(), few())
		if err != nil {
			return err
		}
		view.Namespaces, view.Stats = found.TotalCount, p.store.Stats()
		view.UploadedBytes = int64(view.Stats.UploadedBytes)
	}
	return p.part.Show(w, r, http.StatusOK, "usage.html", view)
}
