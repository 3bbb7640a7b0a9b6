package rest

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/modelrepo/internal/wire"
)

// writeError answers with an ErrorResponse.
func writeError(w http.ResponseWriter, _ *http.Request, e *httpapi.Error) {
	for _, v := range wire.Codes() {
		if errors.Is(e.Err, v.Err) {
			w.Header().Set(wire.ErrorCode, v.Name)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(errorBody(e)) // the client may have closed the connection
}

// errorBody returns the ErrorResponse of the interface.
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
