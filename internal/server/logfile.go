package server

import (
	"errors"
	"os"
	"sync"
)

const logFileSize = 64 << 20 // bytes, before a log file is put aside

// logFile is a file that is appended to. When it would grow beyond its limit
// it is renamed to the same name with ".1" behind it, which replaces the file of that
// name, and a new file begins. A server that runs for years does not fill its disk.
type logFile struct {
	name  string
	limit int64

	mu     sync.Mutex
	file   *os.File // nil after Close, and while it cannot be opened
	size   int64
	closed bool
}

func openLogFile(name string, limit int64) (*logFile, error) {
	l := &logFile{name: name, limit: limit}
	return l, l.open()
}

func (l *logFile) open() error {
	file, err := os.OpenFile(l.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	l.file, l.size = file, info.Size()
	return nil
}

// Write implements io.Writer. Each call is one line, which stays whole.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, os.ErrClosed
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	if l.size > 0 && l.size+int64(len(line)) > l.limit {
		if err := l.putAside(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(line)
	l.size += int64(n)
	return n, err
}

func (l *logFile) putAside() error {
	err := l.file.Close()
	l.file = nil
	if err == nil {
		err = os.Rename(l.name, l.name+".1")
	}
	return errors.Join(err, l.open())
}

// reopen opens the file of the name, which a program for logs may have renamed.
func (l *logFile) reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return os.ErrClosed
	}
	before := l.file
	if err := l.open(); err != nil || before == nil {
		return err // the file before is written on
	}
	return before.Close()
}

// Close implements io.Closer.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close()
}
