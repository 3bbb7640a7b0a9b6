package rest

import (
	"fmt"
	"math"
	"net/http"
	"strconv"

	"github.com/iotenablers/enablers/flcollect/internal/audit"
	"github.com/iotenablers/enablers/flcollect/internal/detail"
	"github.com/iotenablers/enablers/flcollect/internal/view"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/report"
	"github.com/iotenablers/enablers/internal/httpapi"
)

// report answers with a page of the report of a round.
func (r *rest) report(w http.ResponseWriter, req *http.Request) error {
	number, err := strconv.Atoi(req.PathValue("round"))
	if err != nil || number < 1 || number > jobconfig.MaxRounds {
		return detail.Invalid(fmt.Sprintf("ensure this value is a number from 1 to %d", jobconfig.MaxRounds), "path", "round")
	}
	after, err := queryNumber(req, "after", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	limit, err := queryNumber(req, "limit", 100, 1, audit.MaxReport)
	if err != nil {
		return err
	}
	found, err := r.jobs.Report(req.Context(), req.PathValue("id"), number, after, limit)
	if err != nil {
		return err
	}
	page := struct {
		report.RoundReport
		Next int `json:"next,omitempty"`
	}{RoundReport: found}
	if seen := after + len(found.Clients); len(found.Clients) > 0 && seen < found.Counts.Total() {
		page.Next = seen
	}
	w.Header().Set("Cache-Control", "no-store")
	return httpapi.WriteJSON(w, page)
}

// audit answers with the audit log of a job, a line of JSON a line, from the one after a
// number.
func (r *rest) audit(w http.ResponseWriter, req *http.Request) error {
	id := req.PathValue("id")
	after, err := queryNumber(req, "after", 0, 0, math.MaxInt)
	if err != nil {
		return err
	}
	if _, err := view.Find(req.Context(), r.jobs, id); err != nil {
		return err
	}
	release, err := r.downloads.Take()
	if err != nil {
		return err
	}
	defer release()
	out := httpapi.PatientWriter(w, patience)
	begun := false
	begin := func() {
		if !begun {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.Header().Set("Cache-Control", "no-store")
			begun = true
		}
	}
	if req.Method == http.MethodHead {
		begin()
		return nil
	}
	for line, err := range r.jobs.Audit(req.Context(), id, int64(after)) {
		if err != nil && !begun {
			return err
		}
		begin()
		if err == nil {
			_, err = out.Write(append(line, '\n'))
		}
		if err != nil {
			r.options.Logger.Debug("download ended early", "job", id, "error", err)
			panic(http.ErrAbortHandler) // a part of a log must not look like all of it
		}
	}
	begin()
	return nil
}
