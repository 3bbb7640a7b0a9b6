package modelrepo

import "io"

// uploadBuffer is how many bytes are read at a time.
const uploadBuffer = 256 << 10

// sourceError is why content could not be read to its end.
type sourceError struct{ cause error }

func (e *sourceError) Error() string { return "read content: " + e.cause.Error() }

func (e *sourceError) Unwrap() error { return e.cause }

// transfer copies all that the reader gives, and calls between now and then. It
// reads the next bytes while the ones before are hashed and written, so that a
// fast connection does not wait for the store. When it returns nothing is being
// read or written any more.
func (s *Store) transfer(to io.Writer, from io.Reader, between func() error) error {
	var buffers [2]*[uploadBuffer]byte
	defer func() {
		for _, b := range buffers {
			if b != nil {
				s.buffers.Put(b)
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
			buffers[i] = s.buffer()
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
			_ = finish() // what was written is given up
			return err
		}
	}
}

// last writes the end of the content, unless it is none.
func last(to io.Writer, data []byte, readErr error) error {
	if readErr != io.EOF {
		return &sourceError{readErr}
	}
	if len(data) == 0 {
		return nil
	}
	_, err := to.Write(data)
	return err
}

// buffer returns one that is free.
func (s *Store) buffer() *[uploadBuffer]byte {
	if b, ok := s.buffers.Get().(*[uploadBuffer]byte); ok {
		return b
	}
	return new([uploadBuffer]byte)
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
