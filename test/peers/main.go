// Command peers starts the servers that tests share, a FerretDB and a MinIO, on free ports of
// loopback. It prints the environment variables that have tests use them, and runs until
// SIGINT or SIGTERM.
//
//	ENABLERS_REQUIRE_PEERS=1 go run ./test/peers
//
// It is run within this module. Once both servers answer, standard output is two lines:
//
//	ENABLERS_MONGODB=mongodb://127.0.0.1:40123
//	ENABLERS_S3=127.0.0.1:40125
//
// The first time it builds the programs of the servers, which takes minutes; see
// [github.com/iotenablers/enablers/internal/peertest.Peer]. What it does besides is on standard
// error. When it ends it kills both servers and removes their data. It ends with an error when
// one of them ends before.
//
// With -until-eof it ends as well when its standard input does, so that it does not outlive a
// script that holds the other end of the pipe:
//
//	coproc peers { go run ./test/peers -until-eof; }
//
// A SIGTERM for "go run" does not reach it: a script that uses one builds the program. It stays
// in the process group of its parent, and so do the servers: a signal for that group ends all.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/mongo/mongotest"
	"github.com/iotenablers/enablers/storage/s3/s3test"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "peers: %v\n", err)
		os.Exit(1)
	}
}

// peer is a server. What is behind its launch is set once it answers.
type peer struct {
	name, variable string
	launch         func(ctx context.Context, folder string) (value string, process *peertest.Process, err error)

	value   string // of the variable
	process *peertest.Process
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(stderr)
	untilEOF := flags.Bool("until-eof", false, "end as well when standard input ends")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	folder, err := os.MkdirTemp("", "enablers-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if *untilEOF {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // an input that cannot be read has ended too
			cancel()
		}()
	}
	peers := []*peer{
		{name: "FerretDB", variable: mongotest.URIVariable, launch: mongotest.Launch},
		{name: "MinIO", variable: s3test.AddressVariable, launch: s3test.Launch},
	}
	defer func() {
		for _, p := range peers {
			if p.process != nil {
				p.process.Kill()
			}
		}
	}()
	if err := start(ctx, peers, folder); err != nil {
		return err
	}
	variables := ""
	for _, p := range peers {
		fmt.Fprintf(stderr, "%s is process %d\n", p.name, p.process.Pid())
		variables += p.variable + "=" + p.value + "\n"
	}
	if _, err := io.WriteString(stdout, variables); err != nil {
		return err
	}
	return watch(ctx, peers)
}

// start starts the servers at once, each with a folder of its own.
func start(ctx context.Context, peers []*peer, folder string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(peers))
	var starting sync.WaitGroup
	for i, p := range peers {
		starting.Go(func() {
			own := filepath.Join(folder, p.name)
			if errs[i] = os.Mkdir(own, 0o700); errs[i] == nil {
				p.value, p.process, errs[i] = p.launch(ctx, own)
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("start %s: %w", p.name, errs[i])
				cancel() // the others are of no use
			}
		})
	}
	starting.Wait()
	return errors.Join(errs...)
}

// watch waits for the end of the context, which is not an error, or that of a server.
func watch(ctx context.Context, peers []*peer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan *peer, len(peers))
	for _, p := range peers {
		go func() {
			select {
			case <-p.process.Ended():
				ended <- p
			case <-ctx.Done():
			}
		}()
	}
	select {
	case <-ctx.Done():
		return nil
	case p := <-ended:
		return fmt.Errorf("%s (process %d) has ended; its output: %s", p.name, p.process.Pid(), p.process.Output())
	}
}
