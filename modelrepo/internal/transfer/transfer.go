package transfer

import (
	"io"
	"sync"
)

// BufferSize is how many bytes are read at a time.
const BufferSize = 256 << 10

// SourceError is why the source of a copy could not be read to its end.
type SourceError struct{ Cause error }

// Error returns the cause.
func (e *SourceError) Error() string { return "read content: " + e.Cause.Error() }

// Unwrap returns the cause.
func (e *SourceError) Unwrap() error { return e.Cause }

// Copier copies streams with buffers that are used again. The zero value is ready for
// use, also by several goroutines.
type Copier struct{ buffers sync.Pool } // of *[BufferSize]byte

// Copy copies all bytes of the source, and calls between after each buffer. It reads
// the next bytes while the ones before are written, so that a fast connection does not
// wait for storage. Nothing is read or written any more when it returns. An error of
// the source is a [*SourceError].
func (c *Copier) Copy(to io.Writer, from io.Reader, between func() error) error {
	var buffers [2]*[BufferSize]byte
	defer func() {
		for _, b := range buffers {
			if b != nil {
				c.buffers.Put(b)
			}
		}
	}()
	var writing chan error // nil while nothing is being written
	finish := func() error {
		if writing == nil {
			return nil
		}
		err := <-writing
		writing = nil
		return err
	}
	for i := 0; ; i = 1 - i {
		if buffers[i] == nil {
			buffers[i] = c.buffer()
		}
		n, readErr := fill(from, buffers[i][:])
		if err := finish(); err != nil {
			return err
		}
		if readErr != nil {
			return last(to, buffers[i][:n], readErr)
		}
		writing = make(chan error, 1)
		go func(done chan<- error, data []byte) {
			_, err := to.Write(data)
			done <- err
		}(writing, buffers[i][:])
		if err := between(); err != nil {
			_ = finish() // the caller discards what was written
			return err
		}
	}
}

// last writes the last bytes of the content.
func last(to io.Writer, data []byte, readErr error) error {
	if readErr != io.EOF {
		return &SourceError{readErr}
	}
	if len(data) == 0 {
		return nil
	}
	_, err := to.Write(data)
	return err
}

// buffer returns a buffer that is not in use.
func (c *Copier) buffer() *[BufferSize]byte {
	if b, ok := c.buffers.Get().(*[BufferSize]byte); ok {
		return b
	}
	return new([BufferSize]byte)
}

// fill reads until the buffer is full or the reader fails.
func fill(from io.Reader, buffer []byte) (n int, err error) {
	for n < len(buffer) && err == nil {
		var more int
		more, err = from.Read(buffer[n:])
		n += more
	}
	return n, err
}
