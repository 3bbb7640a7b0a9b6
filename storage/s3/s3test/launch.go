package s3test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/iotenablers/enablers/internal/peertest"
)

const (
	patience = 2 * time.Minute       // how long the server may take to start or to answer
	pause    = 20 * time.Millisecond // between two checks whether it has
	attempts = 5                     // ports that are tried: others may take one
)

// peer is the program of the server.
func peer() peertest.Peer {
	return peertest.Peer{Module: "test/minio", Package: "github.com/minio/minio", Name: "minio"}
}

// Program returns the path of the server's program. Without it the test is skipped, or
// fails when [peertest.RequirePeers] is 1.
func Program(tb testing.TB) string {
	tb.Helper()
	return peer().ProgramFor(tb)
}

// Launch starts a server outside of a test, on a free port of loopback, with its data in the
// folder. It returns the value for [AddressVariable], and the process, once the server accepts
// requests.
func Launch(ctx context.Context, folder string) (address string, process *peertest.Process, err error) {
	program, err := peer().Program(ctx)
	if err != nil {
		return "", nil, err
	}
	return installation{program: program, folder: folder}.launch(ctx)
}

// installation is what a server is started from, also after it was killed.
type installation struct {
	program string
	folder  string // with its objects and what it writes besides
	certs   string // folder with public.crt and private.key, empty without TLS
}

// launch starts the program on a free port, and waits until it accepts requests.
func (i installation) launch(ctx context.Context) (address string, process *peertest.Process, err error) {
	for attempt := 1; ; attempt++ {
		address, err = peertest.FreeAddress()
		if err == nil {
			process, err = i.launchAt(ctx, address)
		}
		if err == nil || attempt == attempts || ctx.Err() != nil {
			return address, process, err
		}
	}
}

func (i installation) launchAt(ctx context.Context, address string) (*peertest.Process, error) {
	console, err := peertest.FreeAddress()
	if err != nil {
		return nil, err
	}
	args := []string{"server", "--quiet", "--address", address, "--console-address", console}
	scheme := "http"
	if i.certs != "" {
		scheme = "https"
		args = append(args, "--certs-dir", i.certs)
	}
	home := filepath.Join(i.folder, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	command := exec.Command(i.program, append(args, filepath.Join(i.folder, "data"))...)
	command.Env = append(os.Environ(),
		"MINIO_ROOT_USER="+AccessKey, "MINIO_ROOT_PASSWORD="+SecretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CALLHOME_ENABLE=off", "MINIO_API_REQUESTS_MAX=256", "HOME="+home)
	process, err := peertest.Start(command)
	if err != nil {
		return nil, err
	}
	if err := await(ctx, process, scheme+"://"+address+unknownUser); err != nil {
		process.Kill()
		return nil, fmt.Errorf("%w: %s", err, process.Output())
	}
	return process, nil
}

// unknownUser requests a listing as a user that does not exist. The server refuses
// it once its disk and its users are ready, and answers 503 until then.
const unknownUser = "/any-bucket/?list-type=2&AWSAccessKeyId=unknown&Expires=9999999999&Signature=none"

// await sends requests until the server answers.
func await(ctx context.Context, process *peertest.Process, url string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	client := &http.Client{Transport: trusting()}
	defer client.CloseIdleConnections()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(request)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusForbidden {
				return nil
			}
		}
		select {
		case <-process.Ended():
			return peertest.ErrEnded
		case <-ctx.Done():
			return fmt.Errorf("wait for an answer: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}
