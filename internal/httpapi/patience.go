package httpapi

import (
	"io"
	"math"
	"net/http"
	"time"
)

// PatientBody returns a reader of a request's body that extends the deadlines of the
// connection while bytes come in. The client has as long as patience for its next
// bytes, whatever the timeouts of the server, and the handler has twice as long after
// the last of them to answer. The body may be wrapped, for instance by
// [http.MaxBytesReader].
func PatientBody(w http.ResponseWriter, body io.Reader, patience time.Duration) io.Reader {
	return &patientBody{body: body, control: http.NewResponseController(w), patience: patience, answers: true}
}

// PatientReader is [PatientBody], except that the time for the answer stays that of the
// server.
func PatientReader(w http.ResponseWriter, body io.Reader, patience time.Duration) io.Reader {
	return &patientBody{body: body, control: http.NewResponseController(w), patience: patience}
}

// patientBody extends the deadlines seldom: it costs a system call.
type patientBody struct {
	body     io.Reader
	control  *http.ResponseController
	patience time.Duration
	answers  bool // the time for the answer is extended, too
	extended time.Time
}

// Read implements [io.Reader].
func (b *patientBody) Read(p []byte) (int, error) {
	if now := time.Now(); now.Sub(b.extended) > b.patience/30 {
		b.extended = now
		_ = b.control.SetReadDeadline(now.Add(b.patience)) // a connection without deadlines needs no more time
		if b.answers {
			_ = b.control.SetWriteDeadline(now.Add(2 * b.patience))
		}
	}
	return b.body.Read(p)
}

// PatientWriter returns w with a Write that extends the deadline of the connection. The
// client has as long as patience to read each MiB, whatever the timeouts of the server.
// The kernel may still copy files to the connection.
func PatientWriter(w http.ResponseWriter, patience time.Duration) http.ResponseWriter {
	return &patientWriter{ResponseWriter: w, control: http.NewResponseController(w), patience: patience}
}

// piece is how many bytes a client has to read before its patience ends.
const piece = 1 << 20

type patientWriter struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	extended time.Time
}

// Unwrap is for [http.ResponseController].
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// extend extends the deadline seldom: some writers write small pieces.
func (w *patientWriter) extend() {
	if now := time.Now(); now.Sub(w.extended) > w.patience/30 {
		w.extended = now
		_ = w.control.SetWriteDeadline(now.Add(w.patience)) // a connection without deadlines needs no more time
	}
}

// Write implements [io.Writer].
func (w *patientWriter) Write(p []byte) (int, error) {
	written := 0
	for {
		w.extend()
		n, err := w.ResponseWriter.Write(p[:min(len(p), piece)])
		written += n
		if err != nil || n == len(p) {
			return written, err
		}
		p = p[n:]
	}
}

// ReadFrom implements [io.ReaderFrom], piece by piece.
func (w *patientWriter) ReadFrom(from io.Reader) (int64, error) {
	limited, ok := from.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: from, N: math.MaxInt64}
	}
	written := int64(0)
	for limited.N > 0 {
		w.extend()
		n, err := io.Copy(w.ResponseWriter, &io.LimitedReader{R: limited.R, N: min(limited.N, piece)})
		written += n
		limited.N -= n
		if err != nil || n == 0 {
			return written, err
		}
	}
	return written, nil
}
