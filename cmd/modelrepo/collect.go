package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/datafolder"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
	"github.com/iotenablers/enablers/internal/cli"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/modelrepo"
)

const collectAbout = `modelrepo collect removes content that nothing refers to at once, without the grace
period: after deletions on a full disk. The server of the folder must be stopped; with a
database and a bucket the servers may run.

usage: modelrepo collect -data DIR`

// collectWord is the name of the subcommand.
const collectWord = "collect"

// rounds are the rounds of a collection: content is marked, then condemned, then deleted.
const rounds = 3

// collectFlags returns the flags of the subcommand.
func collectFlags() (*server.Flags, *stores.Settings) {
	f := server.NewFlags("modelrepo collect", "MODELREPO", collectAbout)
	settings := stores.Declare(f, stores.Texts{Data: "./data/modelrepo"}, drivers.All()...)
	f.Logging("")
	return f, settings
}

// completions returns the subcommands as shells complete them.
func completions() []cli.Command {
	f, _ := collectFlags()
	return []cli.Command{{Name: collectWord, About: "remove content that nothing refers to", Flags: f.FlagSet}}
}

// collect is the subcommand.
func collect(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags, settings := collectFlags()
	err := flags.Parse(args)
	if err == nil && flags.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err == nil {
		err = settings.Check()
	}
	return flags.Serve(ctx, err, stdout, stderr, func(ctx context.Context, log *slog.Logger) error {
		return collectFrom(ctx, settings, stdout, log)
	})
}

func collectFrom(ctx context.Context, settings *stores.Settings, stdout io.Writer, log *slog.Logger) (err error) {
	if settings.Store() == "" {
		// A wrong folder must not become an empty repository.
		if _, err := os.Stat(filepath.Join(settings.Data(), "store.db")); err != nil {
			return fmt.Errorf("-data: the folder has no repository: %w", err)
		}
	}
	kept, err := settings.Open(ctx, stores.Config{Owner: datafolder.ModelRepo, Logger: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	repository, err := modelrepo.New(modelrepo.Config{
		Documents: kept.Documents, Blobs: kept.Blobs, Grace: time.Nanosecond, Logger: log,
	})
	if err != nil {
		return err
	}
	var all modelrepo.Collected
	for range rounds {
		done, err := repository.Collect(ctx)
		if err != nil {
			return err
		}
		all.Contents += done.Contents
		all.Bytes += done.Bytes
		all.Blobs += done.Blobs
	}
	_, err = fmt.Fprintf(stdout, "removed %d contents with %d bytes, and %d blobs\n", all.Contents, all.Bytes, all.Blobs)
	return err
}
