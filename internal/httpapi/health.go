package httpapi

import "net/http"

// Live answers that the process runs.
func Live(w http.ResponseWriter, _ *http.Request) error {
	WriteText(w, http.StatusOK, "ok")
	return nil
}

// Ready answers 200 while check returns nil, and otherwise 503 with the reason.
func Ready(check func() error) HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) error {
		if err := check(); err != nil {
			// Not returned as an error: a request before the server is ready is not a mistake.
			WriteText(w, http.StatusServiceUnavailable, err.Error())
			return nil
		}
		WriteText(w, http.StatusOK, "ready")
		return nil
	}
}
