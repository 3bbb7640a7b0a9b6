package mongotest

import (
	"context"
	"errors"
	"net/url"
	"os"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/iotenablers/enablers/internal/peertest"
	"github.com/iotenablers/enablers/storage/mongo"
)

// URIVariable is the environment variable with the connection string of a
// server to use instead of one that is started: mongodb://HOST:PORT, with neither
// a database nor options. The server has no users, as one that is started.
const URIVariable = "ENABLERS_MONGODB"

// Server is a MongoDB server for the length of a test.
type Server struct {
	// URI is the connection string, without a database.
	URI string

	tb      testing.TB
	program string // empty for a server that was not started here
	data    string
	address string

	mu      sync.Mutex
	process *peertest.Process // nil while it does not run
}

// Start returns the server of [URIVariable], or starts one that ends with the
// test. Where that is not possible it skips the test, or fails it when
// [peertest.RequirePeers] is 1. With 0 no server is used.
func Start(tb testing.TB) *Server {
	tb.Helper()
	uri := os.Getenv(URIVariable)
	if uri == "" || peertest.Excluded() {
		return StartProcess(tb)
	}
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Scheme != "mongodb" || parsed.Host == "" {
		tb.Fatalf("%s: must be mongodb://HOST:PORT, got %q", URIVariable, uri)
	}
	return &Server{URI: uri, address: parsed.Host, tb: tb}
}

// StartProcess is Start for tests that kill the server, or that need one that no other test
// uses: it starts one whatever [URIVariable] says.
func StartProcess(tb testing.TB) *Server {
	tb.Helper()
	s := &Server{tb: tb, program: Program(tb), data: tb.TempDir()}
	if err := s.start("127.0.0.1:0"); err != nil {
		tb.Fatalf("start a MongoDB server: %v", err)
	}
	tb.Cleanup(s.Kill)
	s.URI = "mongodb://" + s.address
	return s
}

// Address returns HOST:PORT of the server.
func (s *Server) Address() string { return s.address }

// Restart starts the server again after Kill, on the same port and data.
func (s *Server) Restart() {
	s.tb.Helper()
	if err := s.start(s.address); err != nil {
		s.tb.Fatalf("start the MongoDB server again: %v", err)
	}
}

// Kill ends the server at once (SIGKILL), as a crash would. It does nothing
// when the server does not run. It fails the test when the server is that of [URIVariable].
func (s *Server) Kill() {
	s.tb.Helper()
	if s.program == "" {
		s.tb.Fatal("a test that kills the MongoDB server starts it with StartProcess")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Kill()
		s.process = nil
	}
}

// start starts the process and waits until it listens.
func (s *Server) start(listen string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	address, process, err := launch(context.Background(), s.program, s.data, listen)
	if err != nil {
		return err
	}
	s.address, s.process = address, process
	return nil
}

// Database returns a name that no other test uses, and drops the database of
// that name when the test ends.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	name := "test_" + bson.NewObjectID().Hex()
	if s.program == "" { // the data of a process goes with its folder
		tb.Cleanup(func() {
			if err := s.drop(name); err != nil {
				tb.Errorf("drop the database %s: %v", name, err)
			}
		})
	}
	return name
}

// Config returns the configuration of a store in a database, which gives a busy machine time.
func (s *Server) Config(database string) mongo.Config {
	return mongo.Config{URI: s.URI, Database: database, SelectTimeout: patience, Timeout: patience}
}

// Open opens a database that no other test uses, until the test ends.
func (s *Server) Open(tb testing.TB) *mongo.Store {
	tb.Helper()
	return s.OpenDatabase(tb, s.Database(tb))
}

// OpenDatabase is Open for a database that a test opens more than once, or has others open.
func (s *Server) OpenDatabase(tb testing.TB, database string) *mongo.Store {
	tb.Helper()
	store, err := mongo.Open(tb.Context(), s.Config(database))
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
	return peertest.UnusedAddress(tb)
}
