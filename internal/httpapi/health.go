package httpapi

import "net/http"

// Live answers that the process runs.
func Live(w http.ResponseWriter, _ *http.Request) error {
	WriteText(w, http.StatusOK, "ok")
	return nil
}

// Ready answers 200 while check returns nil, and otherwise 503 with the reason. It also answers
// 503 while the process is about to stop, so that balancers send it nothing new.
func Ready(check func() error) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if InstrumentsOf(r.Context()).IsDraining() {
			WriteText(w, http.StatusServiceUnavailable, "the server is about to stop")
			return nil
		}
		if err := check(); err != nil {
			// Not returned as an error: a request before the server is ready is not a mistake.
			WriteText(w, http.StatusServiceUnavailable, err.Error())
			return nil
		}
		WriteText(w, http.StatusOK, "ready")
		return nil
	}
}
