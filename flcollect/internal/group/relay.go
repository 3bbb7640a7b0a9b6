package group

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/job"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
)

// Next is what follows the relay of a client.
type Next int

const (
	// Search means that the client searches its job again.
	Search Next = iota
	// Leave means that the client is to reconnect later.
	Leave
	// Dismiss means that the job of the client has ended.
	Dismiss
	// Interrupted means that the job of the client was stopped.
	Interrupted
	// Fail means that the session of the client ends with the error.
	Fail
)

// Visitor is a client that may be relayed several times.
type Visitor struct {
	*round.Client
	Session *flower.Session

	last    *Remote   // that it was relayed to
	failing time.Time // since when relays to it fail; zero if they do not
}

// Relay has the server of a client's job instruct the client, until the job has ended, or
// goes on at another server: then the client's session goes on here. A client is to leave and
// find another server if that one has no address, has that of this server, as two behind
// local proxies may, or is out of reach although it is alive.
func (g *Group) Relay(ctx context.Context, v *Visitor, other *Remote) (Next, error) {
	if other.address == "" || other.address == g.config.Address {
		return Leave, nil
	}
	relaying, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	setAside := func() { cancel(job.ErrMoved) }
	defer context.AfterFunc(g.config.Ending, setAside)()
	go func() {
		select {
		case <-other.gone:
			setAside()
		case <-relaying.Done():
		}
	}()
	stopped := func() bool {
		return other.interrupted(g.Pause(), func() (job.Record, error) { return job.Find(ctx, g.config.Storage.Documents, other.id) })
	}
	began := time.Now()
	seconds, err := v.Session.Relay(relaying, flower.RelayConfig{
		Target: other.address, TLS: g.config.RelayTLS, Client: g.introduce(v.Client, other), Dial: g.config.Dial,
	})
	switch {
	case v.Session.Err() != nil:
		return Fail, v.Session.Err()
	case g.config.Ending.Err() != nil:
		return Leave, nil
	case err == nil && seconds == 0:
		return Dismiss, nil
	case err != nil:
		g.config.Log.Debug("a client is not relayed any more", "job", other.id, "client", v.Name(), "server", other.address, "error", err)
		if errors.Is(err, flower.ErrUnfit) {
			return Fail, err
		}
		if stopped() { // the session ends as at the server of the job
			return Interrupted, nil
		}
	default:
		err = errNotThere
	}
	if v.gaveUp(other, began, g.Pause()) {
		g.warnUnreachable(other, err)
		return Leave, nil
	}
	timer := time.NewTimer(g.Pause())
	defer timer.Stop()
	select {
	case <-other.gone:
	case <-timer.C:
	case <-ctx.Done():
	case <-g.config.Ending.Done():
	}
	if stopped() { // it was not stored yet, or the last reading was too recent
		return Interrupted, nil
	}
	return Search, nil
}

// errNotThere is the error of a relay to a server that does not conduct the job.
var errNotThere = errors.New("that server does not conduct the job")

// settledRelay is how long a relay lasts that has worked: longer than one takes to fail.
const settledRelay = 30 * time.Second

// gaveUp reports whether relays of the client have failed for three leases. A server that has
// died is known to be dead before that.
func (v *Visitor) gaveUp(other *Remote, began time.Time, pause time.Duration) bool {
	if v.last != other || time.Since(began) > settledRelay {
		v.last, v.failing = other, time.Now()
	}
	return time.Since(v.failing) > 15*pause
}

// mostWarned bounds Group.warned.
const mostWarned = 1000

// warnUnreachable logs once for each session of a server that clients are not relayed to it.
func (g *Group) warnUnreachable(other *Remote, err error) {
	g.mu.Lock()
	known := g.warned[other.session]
	if len(g.warned) >= mostWarned {
		clear(g.warned)
	}
	g.warned[other.session] = true
	g.mu.Unlock()
	if !known {
		g.config.Log.Warn("clients cannot be relayed to another server, and are disconnected to reconnect: is its address right, "+
			"and does its certificate have that name?", "server", other.address, "job", other.id, "error", err)
	}
}

// introduce describes a client to the server of its job.
func (g *Group) introduce(c *round.Client, other *Remote) flower.Relayed {
	peer := c.Peer
	client := flower.Relayed{
		Token: g.Token(), Job: other.id, Client: c.Name(), Address: peer.Addr, Name: peer.Name, Label: peer.Label(),
	}
	if len(peer.Certificates) == 0 {
		client.Client += "@" + g.config.Name // a proxy may call both servers from one address
	}
	if peer.Header != nil {
		if edge := peer.Header(upstream.JobHeader); edge != "" {
			client.Header = map[string]string{upstream.JobHeader: edge}
		}
	}
	if !strings.HasPrefix(c.Identity, "session:") {
		client.Identity = c.Identity
	}
	return client
}
