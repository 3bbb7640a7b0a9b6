package flcollect

import (
	"net/http"
	"time"
)

// patience is how long a client has to send or read a piece of a body.
const patience = 30 * time.Second

// extendRead gives the client time to send.
func extendRead(control *http.ResponseController) {
	_ = control.SetReadDeadline(time.Now().Add(patience)) // a reader without deadlines needs no more time
}

// extendWrite gives the client time to read.
func extendWrite(control *http.ResponseController) {
	_ = control.SetWriteDeadline(time.Now().Add(patience)) // a writer without deadlines needs no more time
}
