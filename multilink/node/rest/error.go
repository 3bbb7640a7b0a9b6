package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/storage"
)

// httpStatus returns the status by which a request is refused.
func httpStatus(kind fault.Kind) int {
	switch kind {
	case fault.Malformed:
		return http.StatusBadRequest
	case fault.Unknown:
		return http.StatusNotFound
	case fault.Conflict:
		return http.StatusConflict
	case fault.Denied:
		return http.StatusForbidden
	case fault.Unsupported:
		return http.StatusNotImplemented
	case fault.Full:
		return http.StatusInsufficientStorage
	case fault.Unavailable:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Refusal returns the fault of an error, which may be one of the plane or of the documents, and
// the status of the answer.
func Refusal(err error) (*fault.Fault, int) {
	f := refusal(err)
	return f, httpStatus(f.Kind)
}

func refusal(err error) *fault.Fault {
	var known *fault.Fault
	refused := func(kind fault.Kind, field, detail string) *fault.Fault {
		return &fault.Fault{Kind: kind, Field: field, Detail: detail, Err: err}
	}
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, multilink.ErrDenied):
		return refused(fault.Denied, "", err.Error())
	case errors.Is(err, multilink.ErrUnknownLink):
		return refused(fault.Malformed, "interface", "unknown interface: "+err.Error())
	case errors.Is(err, multilink.ErrUnknownPeer):
		return refused(fault.Unknown, "public_key", err.Error())
	case errors.Is(err, multilink.ErrDuplicate), errors.Is(err, multilink.ErrAddressInUse):
		return refused(fault.Conflict, "", err.Error())
	case errors.Is(err, multilink.ErrInvalid):
		return refused(fault.Malformed, "", err.Error())
	case errors.Is(err, multilink.ErrUnsupported):
		return refused(fault.Unsupported, "", err.Error())
	case errors.Is(err, multilink.ErrClosed):
		return refused(fault.Unavailable, "", "the instance is ending")
	case errors.Is(err, multilink.ErrLinkDown):
		return refused(fault.Unavailable, "", err.Error())
	case errors.Is(err, storage.ErrFull):
		return refused(fault.Full, "", "the storage is full: free space where the configuration is stored, and try again")
	case errors.Is(err, storage.ErrUnavailable):
		return refused(fault.Unavailable, "", "the configuration cannot be stored at the moment")
	}
	return refused(fault.Internal, "", "")
}

// classify returns the answer to an error.
func classify(err error) *httpapi.Error {
	f, status := Refusal(err)
	if f.Kind == fault.Internal {
		if errors.Is(err, desired.ErrUncertain) {
			return &httpapi.Error{Status: status, Detail: desired.ErrUncertain.Error(), Err: err}
		}
		return nil
	}
	if f.Kind == fault.Unavailable && f.Err == nil {
		return &httpapi.Error{Status: status, Detail: f.Error()}
	}
	return &httpapi.Error{Status: status, Detail: f.Error(), Err: f}
}

// problem is an error as RFC 9457 has it.
type problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"` // of the request
}

// WriteError answers with a problem.
func WriteError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	p := problem{Title: http.StatusText(e.Status), Status: e.Status, Detail: cmp.Or(e.Detail, e.Hint)}
	var f *fault.Fault
	if errors.As(e.Err, &f) {
		p.Field = f.Field
	}
	data, err := json.Marshal(p)
	if err != nil {
		data = []byte(`{}`) // it has strings and a number only
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	if e.Status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "2")
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(data) // a client that went away is not an error
}

// WriteJSON answers with a document that is not cached.
func WriteJSON(w http.ResponseWriter, status int, document any) error {
	data, err := json.Marshal(document)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that went away is not an error
	return nil
}
