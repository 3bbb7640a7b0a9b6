package page

import (
	"net/http"

	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/internal/shell"
)

// perPage is how many jobs a page of the list has.
const perPage = 100

// list answers with the list of jobs.
func (p *pages) list(w http.ResponseWriter, r *http.Request) error {
	page := struct {
		shell.Frame
		API, Prefix, After, Next, Fault string
		Jobs                            []view.Status
		Empty                           bool // whether there is no job at all
	}{Frame: p.part.Frame(r, "Jobs"), API: p.api}
	var err error
	if page.After, err = detail.QueryID(r.URL.Query(), "after"); err != nil {
		return err
	}
	if page.Prefix, err = detail.QueryID(r.URL.Query(), "prefix"); err != nil {
		return err
	}
	found, next, err := p.jobs.Jobs(r.Context(), page.Prefix, page.After, perPage)
	if err != nil {
		// The page is served all the same, and recovers with the server.
		p.options.REST.Logger.Debug("no jobs for the page", "error", err)
		page.Fault = "The jobs cannot be listed at the moment."
	}
	page.Next = next
	for _, status := range found {
		page.Jobs = append(page.Jobs, view.FromStatus(status))
	}
	page.Empty = len(found) == 0 && page.Prefix == "" && page.After == ""
	return p.part.Show(w, r, http.StatusOK, "list.html", &page)
}
