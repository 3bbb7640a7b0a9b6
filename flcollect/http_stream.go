package flcollect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// patience is how long a client has to read what it is sent.
const patience = 30 * time.Second

// eventStream writes events.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
}

func newEventStream(w http.ResponseWriter) *eventStream {
	return &eventStream{w: w, control: http.NewResponseController(w)}
}

// begin lets the stream be longer than the server's timeouts.
func (s *eventStream) begin() {
	_ = s.control.SetReadDeadline(time.Time{}) // a connection without deadlines needs no more time
	s.buffer.WriteString("retry: 2000\n\n")
}

// event adds an event to what the next flush sends.
func (s *eventStream) event(name string, id cursor, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.buffer, "event: %s\nid: %s\ndata: %s\n\n", name, id, text)
	return nil
}

// comment sends something that means nothing.
func (s *eventStream) comment() error {
	s.buffer.WriteString(":\n\n")
	return s.flush()
}

// flush sends what there is, and waits for the client for a while at most.
func (s *eventStream) flush() error {
	if s.buffer.Len() == 0 {
		return nil
	}
	extendWrite(s.control)
	if _, err := s.buffer.WriteTo(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}

// extendRead gives the client time to send.
func extendRead(control *http.ResponseController) {
	_ = control.SetReadDeadline(time.Now().Add(patience)) // a reader without deadlines needs no more time
}

// extendWrite gives the client time to read.
func extendWrite(control *http.ResponseController) {
	_ = control.SetWriteDeadline(time.Now().Add(patience)) // a writer without deadlines needs no more time
}
