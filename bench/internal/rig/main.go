package rig

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Main is the main function of a benchmark, which is named in its complaint. An
// interrupt ends the context of run.
func Main(name string, run func(ctx context.Context, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		stop()
		os.Exit(1)
	}
}
