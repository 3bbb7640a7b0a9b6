package server

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/internal/tracing"
)

// logging says where a server logs structured lines: to standard error, and to a file if
// the flags say so.
type logging struct {
	level  logLevel
	format logFormat
	toFile bool
	file   string

	current slog.LevelVar // level, or what a reload has made of it
	opened  *logFile      // nil without -log-to-file
}

// Logging declares the flags log-level, log-format, log-to-file and log-file, with the
// default name of the file. [Flags.Serve] opens the log.
func (f *Flags) Logging(file string) {
	l := &f.log
	f.Var(&l.level, "log-level", "what is logged: `debug`, info, warn or error and above")
	l.format = textFormat
	f.Var(&l.format, "log-format", "how lines are written: `text` or json, an object a line")
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
		l.opened = opened
		to, file = writers{stderr, opened}, opened
	}
	l.current.Set(slog.Level(l.level))
	options := &slog.HandlerOptions{Level: &l.current}
	if l.format == jsonFormat {
		return slog.New(tracing.LogHandler(slog.NewJSONHandler(to, options))), file, nil
	}
	return slog.New(tracing.LogHandler(slog.NewTextHandler(to, options))), file, nil
}

// writers each get all lines, also after another one has failed, as standard error does when its
// terminal is closed.
type writers []io.Writer

// Write implements io.Writer.
func (w writers) Write(line []byte) (int, error) {
	var errs []error
	for _, one := range w {
		_, err := one.Write(line)
		errs = append(errs, err)
	}
	return len(line), errors.Join(errs...)
}

type noFile struct{}

func (noFile) Close() error { return nil }

// logLevel is a slog.Level as a flag. It also takes WARNING, as deployments of
// the original service spell it.
type logLevel slog.Level

var _ flag.Value = (*logLevel)(nil)

// String implements flag.Value.
func (l *logLevel) String() string { return strings.ToLower(slog.Level(*l).String()) }

// Choices implements [cli.Chooser].
func (l *logLevel) Choices() []string { return []string{"debug", "info", "warn", "error"} }

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
		return errors.New("expected debug, info, warn or error")
	}
	return nil
}

// logFormat is the form of the log as a flag.
type logFormat string

// The forms of the log.
const (
	textFormat logFormat = "text"
	jsonFormat logFormat = "json"
)

var _ flag.Value = (*logFormat)(nil)

// String implements flag.Value.
func (l *logFormat) String() string { return string(*l) }

// Choices implements [cli.Chooser].
func (l *logFormat) Choices() []string { return []string{string(textFormat), string(jsonFormat)} }

// Set implements flag.Value.
func (l *logFormat) Set(text string) error {
	switch format := logFormat(strings.ToLower(text)); format {
	case textFormat, jsonFormat:
		*l = format
		return nil
	}
	return errors.New("expected text or json")
}
