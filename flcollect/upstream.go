package flcollect

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
)

// Upstream makes the jobs of a server edges: each is a client of the job with the same id
// at another server, the upper one, and has Flower clients of its own. The upper server
// decides on the rounds and has the model. In each round the edge has its clients train,
// and sends the exact sum of their updates, with what they report. The model of the upper
// server has the same bits as if all clients were its own. An edge may itself be the upper
// server of others.
//
// The rules of sampling and failures of an edge are those of the job's configuration there.
// The number of its rounds and its targets have no effect, and of its client_conf counts
// what the instructions of the upper server do not have. The job ends as FINISHED when the
// upper server disconnects the edge. It has no result: that is at the upper server.
//
// Strategies accept sums if [strategy.Merges] says so. A job with another strategy, with a
// privacy mechanism, or one that cuts updates, is refused at an edge, and an upper server
// refuses the edges of such a job.
type Upstream struct {
	// Target is where the upper server listens for Flower clients, host and port. Required.
	Target string
	// TLS, Token, Name, MaxMessage and Dial are as in [flower.ClientConfig].
	TLS        *tls.Config
	Token      string
	Name       string
	MaxMessage int64
	Dial       func(ctx context.Context, target string) (net.Conn, error)
}

// client returns a client of the upper server for a job.
func (u Upstream) client(job string, trainer flower.Trainer, joined func()) (*flower.Client, error) {
	return flower.NewClient(flower.ClientConfig{
		Target: u.Target, TLS: u.TLS, Token: u.Token, Name: u.Name, MaxMessage: u.MaxMessage, Dial: u.Dial,
		Trainer: trainer, Joined: joined, Header: upstream.Announce(job),
	})
}

// check returns an error for a configuration that no client can have.
func (u Upstream) check() error {
	if _, err := u.client("any", struct{ flower.Trainer }{}, nil); err != nil {
		return fmt.Errorf("configure training collector: Upstream: %w", err)
	}
	return nil
}
