package repository

import (
	"encoding/json"
	"errors"
	"iter"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/storage"
)

// classify decides the status of an error.
func classify(err error) *httpapi.Error {
	var refused *refusal
	var invalid *InvalidError
	switch {
	case errors.As(err, &invalid):
		return &httpapi.Error{Status: http.StatusUnprocessableEntity, Err: err}
	case errors.As(err, &refused) && refused.kind == ErrExists:
		return &httpapi.Error{Status: http.StatusBadRequest, Detail: refused.text, Err: err}
	case errors.As(err, &refused):
		return &httpapi.Error{Status: http.StatusNotFound, Detail: refused.text, Err: err}
	case errors.Is(err, ErrTooLarge):
		return &httpapi.Error{Status: http.StatusRequestEntityTooLarge, Detail: "The file is larger than the limit of the repository.", Err: err}
	case errors.Is(err, errCollected):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The upload took too long. Please send it again.", Err: err}
	case errors.Is(err, storage.ErrFull):
		const text = "The storage is full. Please try again when there is space."
		return &httpapi.Error{Status: http.StatusInsufficientStorage, Detail: text, Err: err}
	case errors.Is(err, storage.ErrUnavailable):
		return &httpapi.Error{Status: http.StatusServiceUnavailable, Detail: "The storage cannot be reached. Please try again.", Err: err}
	}
	return nil
}

// writeError answers with the error as "detail": a sentence, or a list of faults for a
// record that does not have its form.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	var detail any = e.Text()
	var invalid *InvalidError
	if errors.As(e.Err, &invalid) && e.Status == http.StatusUnprocessableEntity {
		detail = invalid.Faults
	}
	answer(w, e.Status, map[string]any{"detail": detail})
}

// invalid is the error of one fault.
func invalid(kind, msg string, at ...any) error {
	return &InvalidError{Faults: []Fault{{Loc: at, Msg: msg, Type: kind}}}
}

// answer writes a JSON document.
func answer(w http.ResponseWriter, status int, document any) {
	data, err := json.Marshal(document)
	if err != nil { // records consist of what JSON has
		status, data = http.StatusInternalServerError, []byte(`{"detail":"Internal Server Error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // a client that has left is no error of the server
}

// answerList writes a list of JSON documents while it is read. Once some of it is
// sent an error can only end the answer.
func answerList[T any](w http.ResponseWriter, items iter.Seq2[T, error]) error {
	out := httpapi.PatientWriter(w, patience)
	begun := false
	for item, err := range items {
		var data []byte
		if err == nil {
			data, err = json.Marshal(item)
		}
		switch {
		case err != nil && begun:
			panic(http.ErrAbortHandler)
		case err != nil:
			return err
		}
		separator := []byte(",")
		if !begun {
			w.Header().Set("Content-Type", "application/json")
			separator, begun = []byte("["), true
		}
		if _, err := out.Write(append(separator, data...)); err != nil {
			return nil // the client has left
		}
	}
	if !begun {
		answer(w, http.StatusOK, []any{})
		return nil
	}
	_, _ = out.Write([]byte("]"))
	return nil
}
