package s3test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/s3"
)

// The credentials of the server's administrator.
const (
	AccessKey = "enablers-test"
	SecretKey = "not-a-secret-of-any-user"
)

const (
	patience = 2 * time.Minute       // how long the server may take to start
	pause    = 20 * time.Millisecond // between two checks whether it has
	attempts = 5                     // ports that are tried: others may take one
)

// MinIO is a MinIO server for the length of a test.
type MinIO struct {
	tb      testing.TB
	program string
	data    string // folder of the objects
	home    string // folder of what it writes besides
	certs   string // folder with public.crt and private.key, empty without TLS
	address string
	process *exec.Cmd
	ended   chan struct{} // closed when the process has ended
	output  *bytes.Buffer // of the process; read it after ended
}

// StartMinIO starts a server that ends with the test. Without the program it
// skips the test, or fails it when ENABLERS_REQUIRE_PEERS is 1.
func StartMinIO(tb testing.TB) *MinIO {
	tb.Helper()
	return start(tb, "")
}

// StartMinIOWithTLS is StartMinIO for a server with TLS. The folder holds its
// certificate in public.crt and the key in private.key.
func StartMinIOWithTLS(tb testing.TB, certs string) *MinIO {
	tb.Helper()
	return start(tb, certs)
}

func start(tb testing.TB, certs string) *MinIO {
	tb.Helper()
	program, err := peertest.Peer{Module: "test/minio", Package: "github.com/minio/minio", Name: "minio"}.Program()
	switch {
	case err != nil && peertest.Required():
		tb.Fatalf("a MinIO server is demanded by %s=1: %v", peertest.RequirePeers, err)
	case err != nil:
		tb.Skipf("no MinIO server: %v; %s=1 builds it", err, peertest.RequirePeers)
	}
	m := &MinIO{tb: tb, program: program, data: tb.TempDir(), home: tb.TempDir(), certs: certs}
	tb.Cleanup(m.Kill)
	for attempt := 1; ; attempt++ {
		m.address = UnusedAddress(tb)
		err := m.run()
		if err == nil {
			return m
		}
		if attempt == attempts {
			tb.Fatalf("start a MinIO server: %v", err)
		}
	}
}

// Address returns HOST:PORT of the server.
func (m *MinIO) Address() string { return m.address }

// Pid returns the identifier of the process, which runs.
func (m *MinIO) Pid() int { return m.process.Process.Pid }

// Open opens a part of a bucket that no other call has, until the test ends. The bucket is
// created. It is for a server without TLS.
func (m *MinIO) Open(tb testing.TB) *s3.Store {
	tb.Helper()
	store, err := s3.Open(tb.Context(), s3.Config{
		Endpoint: m.address, Bucket: "tests", Prefix: strings.ToLower(rand.Text()), CreateBucket: true, Insecure: true,
		AccessKey: AccessKey, SecretKey: SecretKey, SweepInterval: -1, PartSize: 5 << 20,
	})
	if err != nil {
		tb.Fatalf("open a bucket: %v", err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close the bucket: %v", err)
		}
	})
	return store
}

// Restart starts the server again after Kill, on the same port and data.
func (m *MinIO) Restart() {
	m.tb.Helper()
	if err := m.run(); err != nil {
		m.tb.Fatalf("start the MinIO server again: %v", err)
	}
}

// Kill ends the server at once (SIGKILL), as a crash would. It does nothing
// when the server does not run.
func (m *MinIO) Kill() {
	if m.process == nil {
		return
	}
	_ = m.process.Process.Kill()
	<-m.ended
	m.process = nil
}

// run starts the process and waits until it accepts requests.
func (m *MinIO) run() error {
	args := []string{"server", "--quiet", "--address", m.address, "--console-address", UnusedAddress(m.tb)}
	scheme := "http"
	if m.certs != "" {
		scheme = "https"
		args = append(args, "--certs-dir", m.certs)
	}
	m.output = &bytes.Buffer{}
	m.process = exec.Command(m.program, append(args, m.data)...)
	m.process.Stdout, m.process.Stderr = m.output, m.output
	m.process.Env = append(os.Environ(),
		"MINIO_ROOT_USER="+AccessKey, "MINIO_ROOT_PASSWORD="+SecretKey,
		"MINIO_BROWSER=off", "MINIO_UPDATE=off", "MINIO_CALLHOME_ENABLE=off", "MINIO_API_REQUESTS_MAX=256", "HOME="+m.home)
	if err := m.process.Start(); err != nil {
		m.process = nil
		return err
	}
	ended, process := make(chan struct{}), m.process
	m.ended = ended
	go func() {
		defer close(ended)
		_ = process.Wait() // how it ended shows in its output
	}()
	if err := m.await(scheme + "://" + m.address + unknownUser); err != nil {
		m.Kill()
		return fmt.Errorf("%w: %s", err, m.output)
	}
	return nil
}

// unknownUser requests a listing as a user that does not exist. The server refuses
// it once its disk and its users are ready, and answers 503 until then.
const unknownUser = "/any-bucket/?list-type=2&AWSAccessKeyId=unknown&Expires=9999999999&Signature=none"

// await sends requests until the server answers.
func (m *MinIO) await(url string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
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
		case <-m.ended:
			return fmt.Errorf("the process ended")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer within %v", patience)
		case <-time.After(pause):
		}
	}
}

// UnusedAddress returns a HOST:PORT of loopback where nothing listens.
func UnusedAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		tb.Fatalf("find a free port: %v", err)
	}
	return listener.Addr().String()
}
