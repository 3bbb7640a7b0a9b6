// Package servertest runs the commands of this module within tests, by the function that
// each of them hands to server.Main.
package servertest

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/version"
)

// Run is a whole command: it blocks until the context ends or the command fails.
type Run func(ctx context.Context, args []string, stdout, stderr io.Writer) error

// Program is a command that runs. Its methods are for the goroutine of the test.
type Program struct {
	// Out and Log have what the command has written to standard output and to standard
	// error.
	Out, Log *Log

	t      testing.TB
	read   int // bytes of Out that are in the lines before
	ended  chan struct{}
	cancel context.CancelFunc
	stop   func() error
}

// Start starts a command. The end of the test stops it.
func Start(t testing.TB, run Run, args ...string) *Program {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := &Program{Out: &Log{}, Log: &Log{}, t: t, ended: make(chan struct{}), cancel: cancel}
	var failure error
	go func() {
		failure = run(ctx, args, p.Out, p.Log)
		close(p.ended)
	}()
	p.stop = func() error {
		cancel()
		<-p.ended
		return failure
	}
	t.Cleanup(func() { _ = p.stop() })
	return p
}

// Next returns the next line of standard output. The test fails at the end of the output.
func (p *Program) Next() string {
	p.t.Helper()
	over := time.After(patience)
	for ended := false; ; {
		text, changed := p.Out.next()
		line, _, whole := strings.Cut(text[p.read:], "\n")
		switch {
		case whole:
			p.read += len(line) + 1
			return line
		case ended:
			require.NoError(p.t, p.stop())
			p.t.Fatal("the program has ended")
		}
		select {
		case <-changed:
		case <-p.ended:
			ended = true
		case <-over:
			p.t.Fatalf("there is no further line; log:\n%s", p.Log)
		}
	}
}

// Await returns the next line of standard output that contains the text.
func (p *Program) Await(text string) string {
	p.t.Helper()
	_, line := p.Until(text)
	return line
}

// Until is Await that also returns the lines before, each with a line feed.
func (p *Program) Until(text string) (before, line string) {
	p.t.Helper()
	for {
		if line = p.Next(); strings.Contains(line, text) {
			return before, line
		}
		before += line + "\n"
	}
}

// Listening returns the URL in the next line of standard output, which says that the
// command listens. A listener among several has a name, which stands behind the URL in
// parentheses.
func (p *Program) Listening(name string) string {
	p.t.Helper()
	line := p.Next()
	url, ok := strings.CutPrefix(line, "listening on ")
	if ok && name != "" {
		url, ok = strings.CutSuffix(url, " ("+name+")")
	}
	require.True(p.t, ok, line)
	return url
}

// Interrupt ends the context of the command, as a signal does, and waits for nothing.
func (p *Program) Interrupt() { p.cancel() }

// Stop ends the command and returns its error. It may be called more than once.
func (p *Program) Stop() error { return p.stop() }

// Wait returns the error of a command that ends by itself.
func (p *Program) Wait() error {
	<-p.ended
	return p.stop()
}

// Log is a log that may be read while it is written. The zero value is empty.
type Log struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed by the next Write, nil while nothing waits for it
}

// Write implements [io.Writer].
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
	return l.text.Write(p)
}

// next returns what has been written, and a channel that is closed when there is more.
func (l *Log) next() (text string, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.text.String(), l.changed
}

// patience ends a test that hangs. It says nothing about how long things take.
const patience = 5 * time.Minute

// Await waits until the text has been written.
func (l *Log) Await(t testing.TB, text string) {
	t.Helper()
	over := time.After(patience)
	for {
		now, changed := l.next()
		if strings.Contains(now, text) {
			return
		}
		select {
		case <-changed:
		case <-over:
			t.Fatalf("%q is not in the log:\n%s", text, now)
		}
	}
}

// String returns what has been written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// CheckUsage checks that a command ends with exit status 2 for settings that cannot be. The
// arguments start the command otherwise, with free ports and a folder of the test; each of the
// further ones is a setting of the command that cannot be.
func CheckUsage(t *testing.T, run Run, arguments []string, further ...[]string) {
	t.Helper()
	absent := filepath.Join(t.TempDir(), "absent")
	for _, wrong := range append(further, []string{"-nonsense"}, []string{"nonsense"}, []string{"-listen", "nonsense"},
		[]string{"-listen", "127.0.0.1:99999"}, []string{"-access-tokens", absent}, []string{"-tls-cert", absent, "-tls-key", absent}) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // of a command that starts
		err := run(ctx, slices.Concat(arguments, wrong), io.Discard, io.Discard)
		cancel()
		require.Error(t, err, wrong)
		require.Equal(t, 2, cli.Status(err), "%v: %v", wrong, err)
	}
}

// CheckVersion checks that a command prints its name and its version and ends, for each
// of the arguments. Without arguments they are -version and --version.
func CheckVersion(t *testing.T, name string, run Run, arguments ...string) {
	t.Helper()
	if len(arguments) == 0 {
		arguments = []string{"-version", "--version"}
	}
	for _, argument := range arguments {
		var stdout bytes.Buffer
		require.NoError(t, run(t.Context(), []string{argument}, &stdout, io.Discard))
		require.Equal(t, name+" "+version.String()+"\n", stdout.String())
	}
}
