package httpapi

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// ReadBody reads a request's body of up to limit bytes. The Content-Type must
// be mediaType, with any parameters; another or none is a 415. An empty
// mediaType means that it does not matter. A larger body is a 413.
func ReadBody(r *http.Request, mediaType string, limit int64) ([]byte, error) {
	if got, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); mediaType != "" && (err != nil || got != mediaType) {
		return nil, &Error{
			Status: http.StatusUnsupportedMediaType,
			Detail: "The request's Content-Type is not supported. Expected:\n" + mediaType,
		}
	}
	if r.ContentLength > limit {
		return nil, tooLarge(r, limit)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	switch {
	case err != nil:
		return nil, &Error{Status: http.StatusBadRequest, Detail: "The request body could not be read.", Err: err}
	case int64(len(data)) > limit:
		return nil, tooLarge(r, limit)
	}
	return data, nil
}

// tooLarge refuses a body of more than limit bytes, and reads that many more of it first,
// see [Drain].
func tooLarge(r *http.Request, limit int64) error {
	Drain(r, r.Body, limit)
	return &Error{
		Status: http.StatusRequestEntityTooLarge,
		Detail: fmt.Sprintf("The request body is larger than the limit of %d bytes.", limit),
	}
}

// Drain reads and discards up to limit bytes of the body of a request that is refused.
// Many clients send all of a body before they read the answer, and would see only a
// broken connection. Clients that wait for the answer before they send the body, by RFC
// 9110 section 10.1.1, get it at once. The body is the reader that the handler has used,
// such as a [PatientBody].
func Drain(r *http.Request, body io.Reader, limit int64) {
	if r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, body, limit) // the answer is the same in any case
	}
}

// WriteJSON answers with status 200 and a JSON document.
func WriteJSON(w http.ResponseWriter, document any) error {
	data, err := json.Marshal(document)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a client that has gone is not an error
	return nil
}

// WriteText answers with a plain text.
func WriteText(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=UTF-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a client that has gone is not an error
}
