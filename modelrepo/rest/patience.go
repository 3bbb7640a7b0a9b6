package rest

import (
	"io"
	"net/http"
	"time"
)

// patience is how long a client may take for its next bytes.
const patience = 2 * time.Minute

// patientBody extends the deadlines of the connection while bytes come in.
type patientBody struct {
	body     io.Reader
	control  *http.ResponseController
	extended time.Time
}

// Read implements [io.Reader].
func (b *patientBody) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.extended) > patience/30 {
		b.extended = now
		// An error means that the connection has no deadlines.
		_ = b.control.SetReadDeadline(now.Add(patience))
		_ = b.control.SetWriteDeadline(now.Add(2 * patience))
	}
	return b.body.Read(p)
}
