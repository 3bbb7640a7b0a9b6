package s3test

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/s3"
)

// The credentials of the server's administrator.
const (
	AccessKey = "enablers-test"
	SecretKey = "not-a-secret-of-any-user"
)

// AddressVariable is the environment variable with the HOST:PORT of a server to use
// instead of one that is started: a MinIO without TLS whose administrator has
// [AccessKey] and [SecretKey].
const AddressVariable = "ENABLERS_S3"

// MinIO is a MinIO server for the length of a test.
type MinIO struct {
	tb           testing.TB
	installation installation // empty for a server that was not started here
	address      string
	process      *peertest.Process // nil while it does not run
}

// StartMinIO returns the server of [AddressVariable], or starts one that ends with the test.
// Where that is not possible it skips the test, or fails it when [peertest.RequirePeers] is
// 1. With 0 no server is used.
func StartMinIO(tb testing.TB) *MinIO {
	tb.Helper()
	address := os.Getenv(AddressVariable)
	if address == "" || peertest.Excluded() {
		return StartMinIOProcess(tb)
	}
	if _, _, err := net.SplitHostPort(address); err != nil {
		tb.Fatalf("%s: must be HOST:PORT, got %q", AddressVariable, address)
	}
	return &MinIO{tb: tb, address: address}
}

// StartMinIOProcess is StartMinIO for tests that kill the server, or that need one that no
// other test uses: it starts one whatever [AddressVariable] says.
func StartMinIOProcess(tb testing.TB) *MinIO {
	tb.Helper()
	return start(tb, "")
}

// StartMinIOWithTLS is StartMinIOProcess for a server with TLS. The folder holds its
// certificate in public.crt and the key in private.key.
func StartMinIOWithTLS(tb testing.TB, certs string) *MinIO {
	tb.Helper()
	return start(tb, certs)
}

func start(tb testing.TB, certs string) *MinIO {
	tb.Helper()
	m := &MinIO{tb: tb, installation: installation{program: Program(tb), folder: tb.TempDir(), certs: certs}}
	tb.Cleanup(m.Kill)
	var err error
	if m.address, m.process, err = m.installation.launch(context.Background()); err != nil {
		tb.Fatalf("start a MinIO server: %v", err)
	}
	return m
}

// Address returns HOST:PORT of the server.
func (m *MinIO) Address() string { return m.address }

// Restart starts the server again after Kill, on the same port and data.
func (m *MinIO) Restart() {
	m.tb.Helper()
	var err error
	if m.process, err = m.installation.launchAt(context.Background(), m.address); err != nil {
		m.tb.Fatalf("start the MinIO server again: %v", err)
	}
}

// Kill ends the server at once (SIGKILL), as a crash would. It does nothing
// when the server does not run. It fails the test when the server is that of
// [AddressVariable].
func (m *MinIO) Kill() {
	m.tb.Helper()
	if m.installation.program == "" {
		m.tb.Fatal("a test that kills the MinIO server starts it with StartMinIOProcess")
	}
	if m.process != nil {
		m.process.Kill()
		m.process = nil
	}
}

// Bucket returns the name of a bucket that no other test uses. The bucket is not created.
// When the test ends it is removed with all that is in it.
func (m *MinIO) Bucket(tb testing.TB) string {
	tb.Helper()
	name := "test-" + strings.ToLower(rand.Text())
	if m.installation.program == "" { // the data of a process goes with its folder
		tb.Cleanup(func() {
			if err := m.remove(name); err != nil {
				tb.Errorf("remove the bucket %s: %v", name, err)
			}
		})
	}
	return name
}

// Open opens a part of a bucket that no other call has, until the test ends. The bucket is
// created. It is for a server without TLS.
func (m *MinIO) Open(tb testing.TB) *s3.Store {
	tb.Helper()
	store, err := s3.Open(tb.Context(), s3.Config{
		Endpoint: m.address, Bucket: m.Bucket(tb), Prefix: "part", CreateBucket: true, Insecure: true,
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

// remove removes a bucket, which the test may not have created.
func (m *MinIO) remove(bucket string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := minio.New(m.address, &minio.Options{Creds: credentials.NewStaticV4(AccessKey, SecretKey, "")})
	if err != nil {
		return err
	}
	err = client.RemoveBucketWithOptions(ctx, bucket, minio.RemoveBucketOptions{ForceDelete: true})
	if minio.ToErrorResponse(err).Code == "NoSuchBucket" {
		return nil
	}
	return err
}

// UnusedAddress returns a HOST:PORT of loopback where nothing listens.
func UnusedAddress(tb testing.TB) string {
	tb.Helper()
	return peertest.UnusedAddress(tb)
}
