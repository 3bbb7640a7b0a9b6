package mongotest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/iotenablers/enablers/internal/peertest"
)

// patience is how long a server may take to start or to answer.
const patience = 2 * time.Minute

// peer is the program of the server.
func peer() peertest.Peer {
	return peertest.Peer{Module: "test/ferretdb", Package: ".", Name: "ferretdb"}
}

// Program returns the path of the server's program. Without it the test is skipped, or
// fails when [peertest.RequirePeers] is 1.
func Program(tb testing.TB) string {
	tb.Helper()
	return peer().ProgramFor(tb)
}

// Launch starts a server outside of a test, on a free port of loopback, with its data in the
// folder. It returns the value for [URIVariable], and the process, once the server listens.
func Launch(ctx context.Context, folder string) (uri string, process *peertest.Process, err error) {
	program, err := peer().Program(ctx)
	if err != nil {
		return "", nil, err
	}
	address, process, err := launch(ctx, program, folder, "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	return "mongodb://" + address, process, nil
}

// launch starts the program and waits until it listens.
func launch(ctx context.Context, program, folder, listen string) (address string, process *peertest.Process, err error) {
	process, err = peertest.Start(exec.Command(program, "-data", filepath.Join(folder, "db"), "-listen", listen))
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	address, err = process.FindLine(ctx, "listening on ")
	if err != nil {
		process.Kill()
		return "", nil, fmt.Errorf("%w: %s", err, process.Output())
	}
	return address, process, nil
}
