package flcollect

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// classify returns the HTTP form of an error of the server, nil for an unexpected one.
func classify(err error) *httpapi.Error {
	if e := classifyContext(err); e != nil {
		return e
	}
	status, detail := 0, ""
	switch {
	case detailsOf(err) != nil:
		status = http.StatusUnprocessableEntity
	case errors.Is(err, ErrActive):
		status, detail = http.StatusConflict, "The job is being trained with another configuration."
	case errors.Is(err, ErrUnknown):
		status, detail = http.StatusNotFound, "There is no job of this id."
	case errors.Is(err, ErrNoResult):
		status, detail = http.StatusNotFound, "The job has no model."
	case errors.Is(err, ErrNoReport):
		status, detail = http.StatusNotFound, "There is no report of this round."
	case errors.Is(err, ErrUndelivered):
		status, detail = http.StatusServiceUnavailable, "Earlier results of the job wait for the repository. Please try again."
	case errors.Is(err, ErrNotRunning):
		status, detail = http.StatusServiceUnavailable, "The server is starting or stopping. Please try again."
	case errors.Is(err, errRepository):
		status, detail = http.StatusServiceUnavailable, "The repository does not answer as it should. Please try again."
	case errors.Is(err, storage.ErrFull):
		status, detail = http.StatusInsufficientStorage, "The storage is full. Please try again when there is space."
	case errors.Is(err, storage.ErrUnavailable):
		status, detail = http.StatusServiceUnavailable, "The storage cannot be reached. Please try again."
	default:
		return nil
	}
	return &httpapi.Error{Status: status, Detail: detail, Err: err}
}

// writeError answers with an object that has a detail, as FastAPI does: a list for a
// request that is not valid, and otherwise a sentence. Endpoints whose clients expect 200
// or 500 as the body answer with 500 where the error is the server's.
func writeError(w http.ResponseWriter, req *http.Request, e *httpapi.Error) {
	w.Header().Set("Content-Type", "application/json")
	if e.Status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(e.Status)
	if e.Status >= 500 && answersWithNumber(req) {
		_, _ = io.WriteString(w, "500") // a client that has left is no error of the server
		return
	}
	var detail any = e.Text()
	if e.Status == http.StatusUnprocessableEntity && e.Err != nil {
		if list := detailsOf(e.Err); list != nil {
			detail = list
		}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"detail": detail})
}

// answersWithNumber reports whether the answer of a request's route is 200 or
// 500, as JSON.
func answersWithNumber(req *http.Request) bool {
	_, path, _ := strings.Cut(req.Pattern, " ")
	return strings.HasPrefix(path, "/job/config/") || strings.HasPrefix(path, "/job/stop")
}
