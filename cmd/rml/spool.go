package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
)

// spoolMemory is how much output stays in memory before it goes to a file.
const spoolMemory = 8 << 20

// spool keeps the output back until the whole run has succeeded: first in
// memory, and in a temporary file once there is much of it.
type spool struct {
	memory bytes.Buffer
	file   *os.File
}

// Write keeps p.
func (s *spool) Write(p []byte) (int, error) {
	if s.file == nil {
		if s.memory.Len()+len(p) <= spoolMemory {
			return s.memory.Write(p)
		}
		file, err := os.CreateTemp("", "rml-*.out")
		if err != nil {
			return 0, err
		}
		s.file = file
	}
	return s.file.Write(p)
}

// reader reads all output from its beginning.
func (s *spool) reader() (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.memory.Bytes()), nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read back the output: %w", err)
	}
	return io.MultiReader(bytes.NewReader(s.memory.Bytes()), s.file), nil
}

// copyTo writes all output to w.
func (s *spool) copyTo(w io.Writer) error {
	if _, err := s.memory.WriteTo(w); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	if s.file == nil {
		return nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("read back the output: %w", err)
	}
	if _, err := io.Copy(w, s.file); err != nil {
		return fmt.Errorf("write standard output: %w", err)
	}
	return nil
}

// remove deletes the temporary file, if there is one.
func (s *spool) remove() {
	if s.file != nil {
		s.file.Close()
		os.Remove(s.file.Name())
	}
}
