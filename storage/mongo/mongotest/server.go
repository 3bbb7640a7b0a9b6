package mongotest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/mongo"
)

// URIVariable is the environment variable with the connection string of a
// server to use instead of one that is started.
const URIVariable = "ENABLERS_MONGODB"

// patience is how long a server may take to start or to answer.
const patience = 2 * time.Minute

// Server is a MongoDB server for the length of a test.
type Server struct {
	// URI is the connection string, without a database.
	URI string

	tb      testing.TB
	binary  string // empty for a server that was not started here
	data    string
	address string

	mu      sync.Mutex
	process *exec.Cmd
	output  *bytes.Buffer // tail of the process's standard error
}

// Start returns the server of [URIVariable], or starts one that ends with the
// test. Where that is not possible it skips the test, or fails it when
// [peertest.RequirePeers] is 1.
func Start(tb testing.TB) *Server {
	tb.Helper()
	if uri := os.Getenv(URIVariable); uri != "" {
		return &Server{URI: uri, tb: tb}
	}
	return StartProcess(tb)
}

// StartProcess is Start for tests that kill the server: it starts one whatever
// [URIVariable] says.
func StartProcess(tb testing.TB) *Server {
	tb.Helper()
	binary, err := peertest.Peer{Module: "test/ferretdb", Package: ".", Name: "ferretdb"}.Program()
	switch {
	case err != nil && peertest.Required():
		tb.Fatalf("a MongoDB server is demanded by %s=1: %v", peertest.RequirePeers, err)
	case err != nil:
		tb.Skipf("no MongoDB server: %v; %s=1 builds one, %s names one", err, peertest.RequirePeers, URIVariable)
	}
	s := &Server{tb: tb, binary: binary, data: tb.TempDir()}
	if err := s.start("127.0.0.1:0"); err != nil {
		tb.Fatalf("start a MongoDB server: %v", err)
	}
	tb.Cleanup(s.Kill)
	s.URI = "mongodb://" + s.address
	return s
}

// Address returns HOST:PORT of a server that was started here, and an empty
// string for another.
func (s *Server) Address() string { return s.address }

// Restart starts the server again after Kill, on the same port and data.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.start(s.address); err != nil {
		s.tb.Fatalf("start the MongoDB server again: %v", err)
	}
}

// Kill ends the server at once (SIGKILL), as a crash would. It does nothing
// when the server does not run, and is not for a server that was not started
// here.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // the error says that it was killed
	s.process = nil
}

// start starts the process and waits until it listens.
func (s *Server) start(address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.output = &bytes.Buffer{}
	s.process = exec.Command(s.binary, "-data", filepath.Join(s.data, "db"), "-listen", address)
	s.process.Stderr = s.output
	stdout, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.process.Start(); err != nil {
		return err
	}
	hung := time.AfterFunc(patience, func() { _ = s.process.Process.Kill() })
	defer hung.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	found := false
	if s.address, found = strings.CutPrefix(strings.TrimSpace(line), "listening on "); err == nil && found {
		return nil
	}
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // the error says that it was killed
	s.process = nil
	return fmt.Errorf("it said %q: %w: %s", line, err, s.output)
}

// Database returns a name that no other test uses, and drops the database of
// that name when the test ends.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := "test_" + bson.NewObjectID().Hex()
	if s.binary == "" { // the data of a process goes with its folder
		tb.Cleanup(func() {
			if err := s.drop(name); err != nil {
				tb.Errorf("drop the database %s: %v", name, err)
			}
		})
	}
	return name
}

// Open opens a database that no other test uses, until the test ends.
func (s *Server) Open(tb testing.TB) *mongo.Store {
	tb.Helper()
	store, err := mongo.Open(tb.Context(), mongo.Config{URI: s.URI, Database: s.Database(tb)})
	if err != nil {
		tb.Fatalf("open a database: %v", err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Errorf("close the database: %v", err)
		}
	})
	return store
}

func (s *Server) drop(database string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := driver.Connect(options.Client().ApplyURI(s.URI))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Disconnect(ctx)) }()
	return client.Database(database).Drop(ctx)
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
