package rig

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Main is the main function of a benchmark, which is named in its complaint. It
// makes the root of the project the working folder, wherever in the project the
// benchmark was started, and calls run, whose context an interrupt ends.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := enterRoot()
	if err == nil {
		err = run(ctx, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		stop()
		os.Exit(1)
	}
}
