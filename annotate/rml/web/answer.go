package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/iotenablers/enablers/annotate/rml"
)

// answer is the body of an answer, within its limits. One goroutine uses it.
type answer struct {
	ctx          context.Context
	cancel       context.CancelCauseFunc
	body         io.ReadCloser
	total, pause *time.Timer
	timeout      time.Duration
	left, limit  int64
}

// Read implements io.Reader. An answer that is cut off is never io.EOF nor io.ErrUnexpectedEOF,
// which readers take for the end of a source.
func (a *answer) Read(p []byte) (int, error) {
	if a.left < 0 {
		return 0, a.tooLarge()
	}
	if int64(len(p)) > a.left {
		p = p[:a.left+1] // one more byte tells whether the answer is too large
	}
	a.pause.Reset(a.timeout)
	n, err := a.body.Read(p)
	a.pause.Stop() // what the reader does meanwhile is not a pause of the server
	if a.left -= int64(n); a.left < 0 {
		return n - 1, a.tooLarge()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = a.explain(err)
	}
	return n, err
}

func (a *answer) tooLarge() error {
	return fmt.Errorf("the answer has more than %d bytes: %w", a.limit, rml.ErrLimit)
}

// Close ends the request.
func (a *answer) Close() error {
	a.end()
	return nil
}

func (a *answer) end() {
	a.total.Stop()
	a.pause.Stop()
	a.cancel(context.Canceled)
	if a.body != nil {
		_ = a.body.Close() // it was only read
	}
}

// explain returns the error of a request without its address, whose query may be confidential.
func (a *answer) explain(err error) error {
	if a.ctx.Err() != nil {
		return context.Cause(a.ctx)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the answer is cut off: %v", err) // not wrapped, see Read
	}
	return err
}
