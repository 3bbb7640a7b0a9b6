package server_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server"
)

// diary notes what parts do, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// part returns a part that runs until it is stopped and then returns err.
func (d *diary) part(name string, err error) server.Part {
	var started atomic.Bool
	return server.Part{
		Name: name,
		Run: func(ctx context.Context) error {
			d.note("start " + name)
			started.Store(true)
			<-ctx.Done()
			d.note("stop " + name)
			return err
		},
		Ready: func() error {
			if !started.Load() {
				return errors.New("starting")
			}
			return nil
		},
	}
}

func TestRun_stopsPartsInTheOppositeOrderOfTheirStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var d diary
	a, b := d.part("a", nil), d.part("b", nil)
	a.Announce = func() { d.note("a is ready") }
	b.Announce = func() { d.note("b is ready"); cancel() }
	require.NoError(t, server.Run(ctx, a, b))
	require.Equal(t, []string{"start a", "a is ready", "start b", "b is ready", "stop b", "stop a"}, d.lines)
}

func TestRun_namesThePartThatFailsAndStopsTheOthers(t *testing.T) {
	var d diary
	cause := errors.New("no bread")
	failing := server.Part{Name: "toast", Run: func(context.Context) error { return cause }}
	err := server.Run(t.Context(), d.part("a", nil), failing)
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "toast: no bread")
	require.Equal(t, "stop a", d.lines[len(d.lines)-1])
}

func TestRun_startsNoPartAfterOneThatFailsBeforeItIsReady(t *testing.T) {
	var d diary
	failing := server.Part{
		Name:  "toast",
		Run:   func(context.Context) error { return errors.New("no bread") },
		Ready: func() error { return errors.New("never") },
	}
	err := server.Run(t.Context(), failing, d.part("b", nil))
	require.EqualError(t, err, "toast: no bread")
	require.Empty(t, d.lines)
}

func TestRun_returnsTheErrorsOfStopping(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var d diary
	a, b := d.part("a", errors.New("left unfinished")), d.part("b", context.Canceled)
	b.Announce = cancel
	err := server.Run(ctx, a, b)
	require.EqualError(t, err, "a: left unfinished")
}

func TestOpened_isReadyOnceTheChannelIsClosed(t *testing.T) {
	ready := make(chan struct{})
	check := server.Opened(ready)
	require.Error(t, check())
	close(ready)
	require.NoError(t, check())
}
