package server

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

// logging says where a server logs structured lines: to standard error, and to a file if
// the flags say so.
type logging struct {
	level  logLevel
	toFile bool
	file   string
}

// Logging declares the flags log-level, log-to-file and log-file, with the default name
// of the file. [Flags.Serve] opens the log.
func (f *Flags) Logging(file string) {
	l := &f.log
	f.Var(&l.level, "log-level", "what is logged: `debug`, info, warn or error and above")
	f.BoolVar(&l.toFile, "log-to-file", false, "also log to the file of -log-file")
	f.StringVar(&l.file, "log-file", file, "the `file` of -log-to-file; it is kept below 2 x 64 MiB")
}

// open returns the logger, and what closes its file.
func (l *logging) open(stderr io.Writer) (*slog.Logger, io.Closer, error) {
	var to io.Writer = stderr
	var file io.Closer = noFile{}
	if l.toFile {
		if err := os.MkdirAll(filepath.Dir(l.file), 0o750); err != nil {
			return nil, nil, fmt.Errorf("open log file (-log-file): %w", err)
		}
		opened, err := openLogFile(l.file, logFileSize)
		if err != nil {
			return nil, nil, fmt.Errorf("open log file (-log-file): %w", err)
		}
		to, file = io.MultiWriter(stderr, opened), opened
	}
	return slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.Level(l.level)})), file, nil
}

type noFile struct{}

func (noFile) Close() error { return nil }

// logLevel is a slog.Level as a flag. It also takes WARNING, as deployments of
// the original service spell it.
type logLevel slog.Level

var _ flag.Value = (*logLevel)(nil)

// String implements flag.Value.
func (l *logLevel) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Set implements flag.Value.
func (l *logLevel) Set(text string) error {
	switch strings.ToLower(text) {
	case "debug":
		*l = logLevel(slog.LevelDebug)
	case "info":
		*l = logLevel(slog.LevelInfo)
	case "warn", "warning":
		*l = logLevel(slog.LevelWarn)
	case "error":
		*l = logLevel(slog.LevelError)
	default:
		return fmt.Errorf("expected debug, info, warn or error, got %q", text)
	}
	return nil
}
