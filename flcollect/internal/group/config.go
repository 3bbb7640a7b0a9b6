package group

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"time"

	"github.com/iotenablers/enablers/flcollect/internal/contextstore"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/persist"
	"github.com/iotenablers/enablers/storage"
)

// Server is one server of a group, as far as the group needs it.
type Server interface {
	// Job returns a job that the server conducts, nil if none has that id.
	Job(id string) *job.Job
	// Jobs returns the jobs that the server conducts.
	Jobs() []*job.Job
	// GoOn conducts a job from its stored record on.
	GoOn(r job.Record, revision storage.Revision) *job.Job
	// Settled lists the jobs that have nothing to do.
	Settled(records []job.Record)
	// Looked reports that the server has looked at the jobs, or the error of one that has not.
	Looked(err error)
}

// Config configures a [Group]. Fields are required unless their comments say otherwise.
type Config struct {
	// Server is the server.
	Server Server
	// Offered is called when the jobs of other servers have changed.
	Offered func()
	// Storage is that of all servers, and Contexts are the public contexts in it.
	Storage  persist.Store
	Contexts *contextstore.Store
	// Name is that of the server in the group.
	Name string
	// Address is where other servers reach the clients' listener of this one; empty for nowhere.
	Address string
	// RelayTLS is that for relays; nil for an unencrypted connection.
	RelayTLS *tls.Config
	// Dial connects to other servers; nil means TCP.
	Dial func(ctx context.Context, target string) (net.Conn, error)
	// Lease is the time after which a server that shows no life counts as over.
	Lease time.Duration
	// Starting holds a token while a job is started.
	Starting chan struct{}
	// Ending ends when the server is about to end.
	Ending context.Context
	// Log logs what happens to the jobs.
	Log *slog.Logger
}
