package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/internal/tracing"
)

const (
	accessQueue    = 1024             // lines that wait to be written
	accessBurst    = 1000             // lines that are written at once, whatever the rate
	failuresRate   = 100              // lines per second
	allRate        = 10_000           // lines per second
	accessInterval = 10 * time.Second // between two warnings about lines that were dropped
)

const accessUsage = "which requests to the gateway get a line: `off`, failures, or all. A line is a JSON object on standard error, or in " +
	"the file of -access-log-file; at most 100 lines per second are written of failures, and 10000 of all"

// AccessLog is the log of the requests to a gateway, one JSON object a line. A request never waits
// for it: lines beyond a rate, and those that cannot be written in time, are dropped and
// counted. A nil *AccessLog logs nothing.
type AccessLog struct {
	choice accessChoice
	name   string // of the file; empty means standard error

	to     io.Writer
	file   *logFile // nil on standard error
	log    *slog.Logger
	queue  chan []byte
	closed chan struct{}
	ended  sync.WaitGroup

	dropped atomic.Uint64

	mu    sync.Mutex
	rate  float64 // lines per second
	room  float64 // lines that may come at once
	since time.Time
}

// accessChoice is the value of the flag access-log.
type accessChoice string

// The values of the flag access-log.
const (
	accessOff      accessChoice = "off"
	accessFailures accessChoice = "failures"
	accessAll      accessChoice = "all"
)

// String implements flag.Value.
func (c *accessChoice) String() string { return string(*c) }

// Choices implements [cli.Chooser].
func (c *accessChoice) Choices() []string {
	return []string{string(accessOff), string(accessFailures), string(accessAll)}
}

// Set implements flag.Value.
func (c *accessChoice) Set(text string) error {
	switch choice := accessChoice(strings.ToLower(text)); choice {
	case accessOff, accessFailures, accessAll:
		*c = choice
		return nil
	}
	return errors.New("expected off, failures or all")
}

// AccessLog declares the flags access-log and access-log-file. [Flags.Serve] opens the log, and
// [AccessLogOf] returns it.
func (f *Flags) AccessLog() {
	f.access = &AccessLog{choice: accessFailures}
	f.Var(&f.access.choice, "access-log", accessUsage)
	f.StringVar(&f.access.name, "access-log-file", "", "the `file` of -access-log; it is kept below 2 x 64 MiB. Empty means standard error")
}

// open begins to write lines to standard error or to the file. The log gets warnings.
func (a *AccessLog) open(stderr io.Writer, log *slog.Logger) error {
	a.to, a.log = stderr, log
	if a.name != "" {
		err := os.MkdirAll(filepath.Dir(a.name), 0o750)
		if err == nil {
			a.file, err = openLogFile(a.name, logFileSize)
		}
		if err != nil {
			return fmt.Errorf("open access log (-access-log-file): %w", err)
		}
		a.to = a.file
	}
	a.queue, a.closed = make(chan []byte, accessQueue), make(chan struct{})
	a.rate, a.room, a.since = failuresRate, accessBurst, time.Now()
	if a.choice == accessAll {
		a.rate = allRate
	}
	a.ended.Go(a.run)
	return nil
}

// Logger returns the logger of requests: failures have the level Warn, others Info. It is nil
// if no request gets a line.
func (a *AccessLog) Logger() *slog.Logger {
	if a == nil {
		return nil
	}
	level := slog.LevelWarn
	if a.choice == accessAll {
		level = slog.LevelInfo
	}
	return slog.New(tracing.LogHandler(slog.NewJSONHandler(accessLines{a}, &slog.HandlerOptions{Level: level})))
}

// Dropped returns how many requests should have had a line and have none.
func (a *AccessLog) Dropped() uint64 {
	if a == nil {
		return 0
	}
	return a.dropped.Load()
}

// accessLines takes lines to be written later.
type accessLines struct{ log *AccessLog }

// Write implements io.Writer. It does not block.
func (l accessLines) Write(line []byte) (int, error) {
	if !l.log.admit(time.Now()) {
		l.log.dropped.Add(1)
		return len(line), nil
	}
	select {
	case l.log.queue <- bytes.Clone(line):
	default:
		l.log.dropped.Add(1)
	}
	return len(line), nil
}

// admit reports whether a line is within the rate.
func (a *AccessLog) admit(now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.room = min(a.room+max(now.Sub(a.since).Seconds(), 0)*a.rate, max(accessBurst, a.rate))
	a.since = now
	if a.room < 1 {
		return false
	}
	a.room--
	return true
}

// run writes lines until close, and then those that wait. It says how many were dropped.
func (a *AccessLog) run() {
	tick := time.NewTicker(accessInterval)
	defer tick.Stop()
	var said uint64
	var fault error
	say := func() {
		dropped := a.dropped.Load()
		if dropped == said {
			return
		}
		attributes := []any{"dropped", dropped - said}
		if fault != nil {
			attributes = append(attributes, "error", fault)
		}
		a.log.Warn("requests have no line in the access log: there were too many, or the log cannot be written", attributes...)
		said, fault = dropped, nil
	}
	write := func(line []byte) {
		if _, err := a.to.Write(line); err != nil {
			a.dropped.Add(1)
			fault = err
		}
	}
	for {
		select {
		case line := <-a.queue:
			write(line)
		case <-tick.C:
			say()
		case <-a.closed:
			for {
				select {
				case line := <-a.queue:
					write(line)
					continue
				default:
				}
				say()
				return
			}
		}
	}
}

// close writes what waits, and closes the file. Nothing is logged after it.
func (a *AccessLog) close() error {
	if a == nil {
		return nil
	}
	close(a.closed)
	a.ended.Wait()
	if a.file == nil {
		return nil
	}
	return a.file.Close()
}

// exclusive is a writer of several loggers, one line at a time.
type exclusive struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (e *exclusive) Write(line []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.to.Write(line)
}
