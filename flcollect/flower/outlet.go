package flower

import (
	"net/http"
	"sync"
)

// outlet is where the messages of a session are written. Package grpc does not say when a
// message has left; the outlet does, for messages that are held in memory for one client.
type outlet struct {
	http.ResponseWriter
	gate *gate // of the same stream

	mu   sync.Mutex
	left int64  // bytes that are not written yet, of the message that done is for
	done func() // nil for none
}

// chunk is how many bytes have the time of ServerConfig.Stall to be written.
const chunk = 64 << 10

// expect has done called once, when that many more bytes are written, or the stream ends.
func (o *outlet) expect(bytes int64, done func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if before := o.done; before != nil { // the client has answered without reading all
		o.left, o.done = o.left+bytes, func() {
			before()
			done()
		}
		return
	}
	o.left, o.done = bytes, done
}

func (o *outlet) expects() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.done != nil
}

// Write implements io.Writer. A client that does not read what is held for it loses its
// stream.
func (o *outlet) Write(p []byte) (int, error) {
	if !o.expects() {
		return o.ResponseWriter.Write(p)
	}
	written := 0
	for written < len(p) {
		o.gate.extendWrites()
		n, err := o.ResponseWriter.Write(p[written:min(written+chunk, len(p))])
		written += n
		o.wrote(n)
		if err != nil {
			o.finish()
			return written, err
		}
	}
	return written, nil
}

func (o *outlet) wrote(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left -= int64(n)
}

// Flush implements http.Flusher.
func (o *outlet) Flush() {
	err := http.NewResponseController(o.ResponseWriter).Flush()
	o.mu.Lock()
	over := o.done != nil && (err != nil || o.left <= 0)
	o.mu.Unlock()
	if over {
		o.gate.freeWrites()
		o.finish()
	}
}

// finish ends the wait for a message.
func (o *outlet) finish() {
	o.mu.Lock()
	done := o.done
	o.done = nil
	o.mu.Unlock()
	if done != nil {
		done()
	}
}
