// Command ferretdb is a MongoDB server for tests, made of Go alone: FerretDB
// with SQLite behind it, in one process.
//
//	ferretdb -data DIR [-listen HOST:PORT]
//
// The first line on standard output is "listening on HOST:PORT". It keeps its
// data in DIR and ends with a signal. It is a module of its own, so that what it
// depends on is not a dependency of the project.
//
// FerretDB looks a document up and changes it in two steps, where MongoDB has
// one: of two compare-and-sets at one time both can succeed. So this server
// runs one command at a time, which makes every command as atomic as MongoDB's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "ferretdb: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("ferretdb", flag.ContinueOnError)
	flags.SetOutput(stderr)
	data := flags.String("data", "", "`folder` of the databases; it is created")
	listen := flags.String("listen", "127.0.0.1:0", "`HOST:PORT` to listen on; port 0 takes any that is free")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *data == "" {
		return errors.New("-data: a folder is required")
	}
	if err := os.MkdirAll(*data, 0o700); err != nil {
		return err
	}
	database, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Logger:    slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: sqliteURL(*data),
	})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- database.Run(ctx) }()

	inner, err := url.Parse(database.MongoDBURI())
	if err != nil {
		return err
	}
	door := &turnstile{listener: listener, target: inner.Host}
	go door.serve()
	fmt.Fprintf(stdout, "listening on %s\n", listener.Addr())
	err = <-ended
	door.close()
	return err
}

// sqliteURL returns where SQLite keeps the data. It need not sync to the disk:
// a test may kill the process, but not the machine.
func sqliteURL(folder string) string {
	at := url.URL{Scheme: "file", Opaque: filepath.ToSlash(folder) + "/"}
	at.RawQuery = url.Values{"_pragma": {"synchronous(off)"}}.Encode()
	return at.String()
}
