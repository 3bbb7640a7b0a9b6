package server

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/iotenablers/enablers/internal/cli"
)

// Main runs a command until it ends or a signal interrupts it. A second signal
// ends the process at once. An error is one line on standard error, with the
// name of the command and advice if the machine lacks something. The exit status is 2 if the
// settings are wrong, and otherwise 1.
func Main(name string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the next signal is not ours and ends the process
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, message(name, err))
		os.Exit(cli.Status(err))
	}
}

// message returns the line that a command ends with.
func message(name string, err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", "; ") // joined errors have a line each
	return name + ": " + text + advice(err)
}
