package web

import (
	"net/http"
	"time"

	"github.com/iotenablers/enablers/modelrepo"
)

// Patience is how long a client may take for its next bytes.
const Patience = 2 * time.Minute

// RequestPath returns the path that a request names.
func RequestPath(req *http.Request) modelrepo.Path {
	return modelrepo.Path{Namespace: req.PathValue("namespace"), Model: req.PathValue("model"),
		Version: req.PathValue("version")}
}
