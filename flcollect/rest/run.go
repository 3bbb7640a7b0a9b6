package rest

import (
	"math"
	"net/http"

	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// runs answers with a page of the runs of a job, the last one first.
func (r *rest) runs(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	before, err := queryNumber(req, "before", 0, 1, math.MaxInt)
	if err != nil {
		return err
	}
	limit, err := queryNumber(req, "limit", 100, 1, 1000)
	if err != nil {
		return err
	}
	if _, err := view.Find(req.Context(), r.jobs, id); err != nil {
		return err
	}
	found, err := r.jobs.Runs(req.Context(), id, int64(before), limit)
	if err != nil {
		return err
	}
	page := struct {
		Runs []view.Run `json:"runs"`
		Next int64      `json:"next,omitempty"`
	}{Runs: make([]view.Run, len(found))}
	for i, run := range found {
		page.Runs[i] = view.FromRun(run)
	}
	if len(found) == limit && found[limit-1].Run > 1 {
		page.Next = found[limit-1].Run
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, page)
}
