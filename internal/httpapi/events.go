package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// eventPatience is how long a client has to read what one flush sends.
const eventPatience = 30 * time.Second

// EventStream writes a stream of events (HTML standard, section 9.2). It is for one
// goroutine at a time.
type EventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
}

// NewEventStream sets the header fields of an answer that is a stream of events. The
// answer to a HEAD request ends here.
func NewEventStream(w http.ResponseWriter) *EventStream {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies must not wait for more
	return &EventStream{w: w, control: http.NewResponseController(w)}
}

// Begin lets the stream be longer than the timeouts of the server. A client that
// loses the stream asks again after two seconds.
func (s *EventStream) Begin() {
	_ = s.control.SetReadDeadline(time.Time{}) // a connection without deadlines needs no more time
	s.buffer.WriteString("retry: 2000\n\n")
}

// Event adds an event to what the next Flush sends; data is written as JSON. An event
// without id leaves the id of the event before it to be the last one. Name and id are
// of one line.
func (s *EventStream) Event(name, id string, data any) error {
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	fmt.Fprintf(&s.buffer, "event: %s\n", name)
	if id != "" {
		fmt.Fprintf(&s.buffer, "id: %s\n", id)
	}
	fmt.Fprintf(&s.buffer, "data: %s\n\n", text)
	return nil
}

// Comment adds a comment, which shows that the stream is alive.
func (s *EventStream) Comment() { s.buffer.WriteString(":\n\n") }

// Flush sends what there is, and waits 30 seconds for the client at most.
func (s *EventStream) Flush() error {
	if s.buffer.Len() == 0 {
		return nil
	}
	_ = s.control.SetWriteDeadline(time.Now().Add(eventPatience)) // see Begin
	if _, err := s.buffer.WriteTo(s.w); err != nil {
		return err
	}
	return s.control.Flush()
}
