package servertest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/server/servertest"
	"github.com/iotenablers/enablers/internal/version"
)

var errLate = errors.New("late")

// program prints where it listens and its arguments, and runs until it is stopped.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if args[0] == "-version" || args[0] == "--version" {
		_, err := fmt.Fprintf(stdout, "thing %s\n", version.String())
		return err
	}
	fmt.Fprintf(stdout, "listening on http://127.0.0.1:1\nlistening on http://127.0.0.1:2 (admin)\n%s\n", args)
	fmt.Fprintln(stderr, "started")
	<-ctx.Done()
	fmt.Fprintln(stdout, "stopped") // nothing reads it
	return errLate
}

func TestProgram_readsLinesUntilItIsStopped(t *testing.T) {
	p := servertest.Start(t, program, "a", "b")
	require.Equal(t, "http://127.0.0.1:1", p.Listening(""))
	require.Equal(t, "http://127.0.0.1:2", p.Listening("admin"))
	require.Equal(t, "[a b]", p.Await("b]"))
	p.Interrupt()
	require.ErrorIs(t, p.Stop(), errLate)
	require.ErrorIs(t, p.Stop(), errLate)
	require.Equal(t, "started\n", p.Log.String())
	require.Contains(t, p.Out.String(), "[a b]\nstopped\n")
}

func TestCheckVersion_acceptsNameAndVersion(t *testing.T) {
	servertest.CheckVersion(t, "thing", program)
}
