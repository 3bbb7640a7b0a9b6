package backup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/iotenablers/enablers/storage/disk"
)

// patience is how long a receiver may take nothing of the archive. Then the backup is
// cut off, since it keeps space on the disk and refuses other backups.
const patience = time.Minute

// Handler returns the handler of GET requests, which are answered with the archive. One
// that fails midway ends the connection, so that what arrived is never taken for the
// whole. While another backup runs the answer is 409, without a data folder 501. The
// handler does not ask who sends the request: the archive holds secrets.
func (s *Source) Handler() http.Handler { return http.HandlerFunc(s.serve) }

func (s *Source) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "backup: only GET is allowed", http.StatusMethodNotAllowed)
		return
	}
	began := time.Now()
	stream, err := s.Begin(r.Context())
	if err != nil {
		s.refuse(w, err)
		return
	}
	defer func() {
		if err := stream.Close(); err != nil {
			s.log.Warn("the snapshots of a backup are not removed; the next start removes them", "error", err)
		}
	}()
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q",
		s.config.Owner+"-"+stream.begun.Format("20060102T150405Z")+".tar"))
	w.Header().Set("Cache-Control", "no-store")
	if begun, err := s.send(r.Context(), stream, w); err != nil {
		s.log.Warn("a backup failed; the receiver has no manifest and must not use it", "error", err)
		if begun {
			panic(http.ErrAbortHandler)
		}
		w.Header().Del("Content-Disposition")
		http.Error(w, "backup: "+err.Error(), http.StatusInternalServerError)
		return
	}
	s.log.Info("backup sent", "files", len(stream.files), "bytes", stream.bytes, "took", time.Since(began).Round(time.Millisecond))
}

// send sends the archive. It reports whether the answer has begun.
func (s *Source) send(ctx context.Context, stream *Stream, w http.ResponseWriter) (begun bool, err error) {
	const piece = 256 << 10
	to := &patient{to: w, control: http.NewResponseController(w)}
	buffer := bufio.NewWriterSize(to, piece)
	err = stream.Write(ctx, buffer)
	if err == nil {
		err = buffer.Flush()
	}
	_ = to.control.SetWriteDeadline(time.Time{}) // not for the next request of the connection
	return to.begun, err
}

func (s *Source) refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	switch {
	case errors.Is(err, disk.ErrSnapshot):
		status, err = http.StatusConflict, errBusy
	case errors.Is(err, ErrNoFolder):
		status = http.StatusNotImplemented
	default:
		s.log.Warn("a backup cannot begin", "error", err)
	}
	http.Error(w, "backup: "+err.Error(), status)
}

// errBusy says what [disk.ErrSnapshot] means here.
var errBusy = errors.New("another backup of this server is running; try again when it has ended")

// patient gives every write a time of its own, instead of all of them one time.
type patient struct {
	to      http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

func (p *patient) Write(data []byte) (int, error) {
	err := p.control.SetWriteDeadline(time.Now().Add(patience))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	p.begun = true
	return p.to.Write(data)
}
