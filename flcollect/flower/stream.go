package flower

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// stream is the server's end of a client's stream: gRPC over HTTP/2, by package http. The
// handler of package grpc has three goroutines more for a stream and a buffer for it.
type stream struct {
	writer http.ResponseWriter
	gate   *gate
	kind   string // the content type of the call

	started  bool // there is a reader
	answered bool // the headers were written

	arrivals chan received // closed with the last message; then failure is set
	failure  error

	mu   sync.Mutex
	over bool           // no exchange begins any more
	busy sync.WaitGroup // exchanges and the reader
}

// The pieces in which messages are written. Package http copies a piece into a buffer of
// the connection, which stays as large; each piece costs two changes of goroutines.
const (
	writePiece = 512 << 10
	// heldPiece is that of a message which is held in memory for its client. The client
	// has the time of ServerConfig.Stall to read it.
	heldPiece = 64 << 10
)

// checkCall answers a call that is no valid one of gRPC, and reports whether it is.
func checkCall(w http.ResponseWriter, r *http.Request) bool {
	refuse := func(code int, text string) bool {
		http.Error(w, text, code)
		return false
	}
	rest := strings.TrimPrefix(r.Header.Get("Content-Type"), "application/grpc")
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return refuse(http.StatusMethodNotAllowed, fmt.Sprintf("invalid gRPC request method %q", r.Method))
	case rest != "" && rest[0] != '+' && rest[0] != ';':
		return refuse(http.StatusUnsupportedMediaType, fmt.Sprintf("invalid gRPC request content-type %q", r.Header.Get("Content-Type")))
	}
	if encoding := r.Header.Get("Grpc-Encoding"); encoding != "" && encoding != "identity" {
		writeStatus(w, status.Newf(codes.Unimplemented, "grpc: Decompressor is not installed for grpc-encoding %q", encoding))
		return false
	}
	if _, err := readTimeout(r); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	return true
}

// readTimeout returns the time that a call may take; 0 for any.
func readTimeout(r *http.Request) (time.Duration, error) {
	text := r.Header.Get("Grpc-Timeout")
	if text == "" {
		return 0, nil
	}
	units := map[byte]time.Duration{'H': time.Hour, 'M': time.Minute, 'S': time.Second, 'm': time.Millisecond,
		'u': time.Microsecond, 'n': time.Nanosecond}
	unit := units[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 64)
	if err != nil || unit == 0 || len(text) > 9 {
		return 0, fmt.Errorf("malformed grpc-timeout: %q", text)
	}
	if n > uint64(math.MaxInt64/unit) {
		return math.MaxInt64, nil
	}
	return time.Duration(n) * unit, nil
}

// limit returns the context of a call, which ends with the time that it may take.
func limit(ctx context.Context, r *http.Request) (context.Context, context.CancelFunc) {
	if timeout, err := readTimeout(r); err == nil && timeout > 0 {
		return context.WithTimeout(ctx, timeout)
	}
	return ctx, func() {}
}

func newStream(w http.ResponseWriter, r *http.Request, g *gate) *stream {
	return &stream{writer: w, gate: g, kind: r.Header.Get("Content-Type"), arrivals: make(chan received, 1)}
}

// start begins to receive messages.
func (s *stream) start() {
	s.started = true
	s.busy.Go(s.read)
}

// read receives messages until the end of the stream. The gate lets one in for each
// exchange, which takes it, unless the session has ended.
func (s *stream) read() {
	defer close(s.arrivals)
	for {
		in, err := s.gate.receive()
		if err != nil {
			s.failure = err
			return
		}
		s.arrivals <- received{in: in}
	}
}

// exchange sends a message and then waits for the next one. Held is that the message is
// kept in memory for this client alone. Sent is called once the message has left, or has
// failed to. The channel has room for the result, which comes with the end of the stream at
// the latest.
func (s *stream) exchange(message mem.BufferSlice, held bool, sent func()) <-chan received {
	result := make(chan received, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		sent()
		result <- received{err: errEnded}
		return result
	}
	s.busy.Go(func() {
		err := s.send(message, held)
		sent()
		if err != nil {
			result <- received{err: err}
			return
		}
		got, ok := <-s.arrivals
		if !ok {
			got.err = s.failure
		}
		result <- got
	})
	return result
}

// send writes a message. It returns once flow control has let all of it go.
func (s *stream) send(message mem.BufferSlice, held bool) error {
	s.answer()
	var header [messageHeader]byte
	binary.BigEndian.PutUint32(header[1:], uint32(message.Len()))
	if _, err := s.writer.Write(header[:]); err != nil {
		return err
	}
	piece := writePiece
	if held {
		piece = heldPiece
		defer s.gate.freeWrites()
	}
	for _, buffer := range message {
		for data := buffer.ReadOnlyData(); len(data) > 0; {
			if held {
				s.gate.extendWrites()
			}
			n := min(piece, len(data))
			if _, err := s.writer.Write(data[:n]); err != nil {
				return err
			}
			data = data[n:]
		}
	}
	return s.gate.control.Flush()
}

// answer sets the headers of the response, once.
func (s *stream) answer() {
	if s.answered {
		return
	}
	s.answered = true
	h := s.writer.Header()
	h["Date"] = nil // none, as package grpc has it
	h.Set("Content-Type", s.kind)
	for _, trailer := range []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"} {
		h.Add("Trailer", trailer)
	}
}

// stop waits for what is under way. A second call does nothing.
func (s *stream) stop() {
	s.mu.Lock()
	over := s.over
	s.over = true
	s.mu.Unlock()
	_ = s.gate.body.Close() // the reader ends
	s.busy.Wait()
	if over || !s.started {
		return
	}
	for got := range s.arrivals {
		got.in.free()
	}
}

// end stops, and ends the response with the status of an error.
func (s *stream) end(err error) {
	s.stop()
	s.answer()
	_ = s.gate.control.Flush() // the client may be gone; headers and trailers are two frames
	end := status.Convert(err)
	h := s.writer.Header()
	h.Set("Grpc-Status", strconv.Itoa(int(end.Code())))
	if text := end.Message(); text != "" {
		h.Set("Grpc-Message", encodeMessage(text))
	}
	if p := end.Proto(); p != nil && len(p.Details) > 0 {
		if data, err := proto.Marshal(p); err == nil {
			h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(data))
		}
	}
}

// errEnded is the error of an exchange that comes after the end of the stream.
var errEnded = errors.New("the stream has ended")
