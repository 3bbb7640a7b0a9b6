package modelrepo

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
)

// maxBody is the largest JSON body of a request, in bytes.
const maxBody = 1 << 20

// success is the SuccessResponse of the interface.
type success struct {
	Message  string   `json:"message"`
	Warnings []string `json:"warnings,omitempty"`
}

// errorBody is the ErrorResponse of the interface.
func errorBody(e *httpapi.Error) []byte {
	text := e.Text()
	switch {
	case e.Detail != "":
	case e.Status == http.StatusInternalServerError:
		text = "Internal server error."
	case e.Status == http.StatusNotFound:
		text = "The requested resource could not be found."
	case e.Status == http.StatusMethodNotAllowed:
		text = "HTTP method not allowed."
	}
	body, _ := json.Marshal(map[string]string{"error": text}) // strings always have a form
	return body
}

const wrongType = "Unsupported content type of request body or malformed content."

// readUpdate reads the body that creates or changes something. There need not
// be one; then present is false.
func readUpdate(w http.ResponseWriter, req *http.Request, field string) (value string, present bool, err error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return "", false, invalid(http.StatusRequestEntityTooLarge, "The request body is too large.")
	case err != nil:
		return "", false, &httpapi.Error{Status: http.StatusBadRequest, Detail: "The request body could not be read.", Err: err}
	case len(bytes.TrimSpace(data)) == 0:
		return "", false, nil
	}
	if mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err != nil || mediaType != "application/json" {
		return "", false, invalid(http.StatusUnsupportedMediaType, wrongType)
	}
	value, fault := decodeUpdate(data, field)
	if fault != "" {
		return "", false, malformed(fault)
	}
	return value, true, nil
}
