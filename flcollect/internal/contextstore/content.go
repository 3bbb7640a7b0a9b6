package contextstore

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/iotenablers/enablers/flcollect/ckks"
	"github.com/iotenablers/enablers/flcollect/jobconfig"
	"github.com/iotenablers/enablers/flcollect/publiccontext"
)

// Content is a public context that was received.
type Content struct {
	raw    []byte // serialised, without base64
	parsed *ckks.Context
}

// Read reads and checks a serialised public context of at most so many bytes, as it is
// or in base64. The error of one with a secret key is [ckks.ErrSecretKey]; the error of
// any other content that clients could not load matches [publiccontext.ErrTooLarge] or
// [jobconfig.ErrInvalid].
func Read(content io.Reader, limit int64) (*Content, error) {
	most := int64(base64.StdEncoding.EncodedLen(int(limit))) + 1024
	data, err := io.ReadAll(io.LimitReader(content, most+1))
	if err != nil {
		return nil, fmt.Errorf("read it: %w", err)
	}
	parsed, err := ckks.ParseContext(data)
	switch {
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%w: more than %d bytes", publiccontext.ErrTooLarge, limit)
	case errors.Is(err, ckks.ErrSecretKey):
		clear(data)
		return nil, ckks.ErrSecretKey
	case err != nil:
		return nil, fmt.Errorf("%w: %w", jobconfig.ErrInvalid, err)
	}
	if data[0] != '\n' { // the first byte of every serialised context, and of no base64
		if data, err = base64.StdEncoding.AppendDecode(nil, bytes.TrimSpace(data)); err != nil {
			return nil, fmt.Errorf("%w: %w", jobconfig.ErrInvalid, err)
		}
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", publiccontext.ErrTooLarge, len(data), limit)
	}
	return &Content{raw: data, parsed: parsed}, nil
}

// Fits returns nil if the context has the parameters of settings, as far as they are
// not left open. The error matches [publiccontext.ErrMismatch].
func (c *Content) Fits(settings ckks.Settings) error { return fits(c.parsed, settings) }

func fits(parsed *ckks.Context, settings ckks.Settings) error {
	if settings.Open() {
		theirs, err := parsed.Settings()
		if err != nil {
			return fmt.Errorf("%w: %w", publiccontext.ErrMismatch, err)
		}
		settings = settings.Fill(theirs)
	}
	parameters, err := ckks.NewParameters(settings)
	if err != nil {
		return fmt.Errorf("%w: %w", publiccontext.ErrMismatch, err)
	}
	if err := parsed.Check(parameters); err != nil {
		return fmt.Errorf("%w: %w", publiccontext.ErrMismatch, err)
	}
	return nil
}
