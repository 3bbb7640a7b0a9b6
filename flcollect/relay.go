package flcollect

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/round"
	"github.com/iotenablers/enablers/flcollect/internal/upstream"
)

// relay has the server of a client's job instruct the client, until the job has ended, or
// goes on at another server: then the client's session goes on here. A client is sent away
// to find another server if that one has no address, has that of this server, as two behind
// local proxies may, or is out of reach although it lives.
func (l *lobby) relay(ctx context.Context, v *visitor, other *remote) (over bool, err error) {
	c := v.Client
	if other.address == "" || other.address == l.address {
		return true, l.sendAway(ctx, c)
	}
	relaying, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	setAside := func() { cancel(errMoved) }
	defer context.AfterFunc(l.ending, setAside)()
	go func() {
		select {
		case <-other.gone:
			setAside()
		case <-relaying.Done():
		}
	}()
	stopped := func() bool {
		return other.interrupted(l.together.Pause(), func() (record, error) { return l.together.server.stored(ctx, other.id) })
	}
	began := time.Now()
	seconds, err := v.session.Relay(relaying, flower.RelayConfig{
		Target: other.address, TLS: l.relayTLS, Client: l.introduce(c, other), Dial: l.dial,
	})
	switch {
	case v.session.Err() != nil:
		return true, v.session.Err()
	case l.ending.Err() != nil:
		return true, l.sendAway(ctx, c)
	case err == nil && seconds == 0:
		return true, sendHome(ctx, c)
	case err != nil:
		l.log.Debug("a client is not relayed any more", "job", other.id, "client", c.Name(), "server", other.address, "error", err)
		if errors.Is(err, flower.ErrUnfit) {
			return true, err
		}
		if stopped() { // the session ends as at the server of the job
			return true, l.dismissStopped(ctx, c, other.id)
		}
	default:
		err = errNotThere
	}
	if v.gaveUp(other, began, l.together.Pause()) {
		l.warnUnreachable(other, err)
		return true, l.sendAway(ctx, c)
	}
	timer := time.NewTimer(l.together.Pause())
	defer timer.Stop()
	select {
	case <-other.gone:
	case <-timer.C:
	case <-ctx.Done():
	case <-l.ending.Done():
	}
	if stopped() { // it was not stored yet, or the last reading was too recent
		return true, l.dismissStopped(ctx, c, other.id)
	}
	return false, nil
}

// errNotThere is the error of a relay to a server that does not conduct the job.
var errNotThere = errors.New("that server does not conduct the job")

// settledRelay is how long a relay lasts that has worked: longer than one takes to fail.
const settledRelay = 30 * time.Second

// gaveUp reports whether relays of the client have failed for three leases. A server that has
// died is known to be dead before that.
func (v *visitor) gaveUp(other *remote, began time.Time, pause time.Duration) bool {
	if v.last != other || time.Since(began) > settledRelay {
		v.last, v.failing = other, time.Now()
	}
	return time.Since(v.failing) > 15*pause
}

// mostWarned bounds lobby.warned.
const mostWarned = 1000

// warnUnreachable logs once for each session of a server that clients are not relayed to it.
func (l *lobby) warnUnreachable(other *remote, err error) {
	l.mu.Lock()
	known := l.warned[other.session]
	if len(l.warned) >= mostWarned {
		clear(l.warned)
	}
	l.warned[other.session] = true
	l.mu.Unlock()
	if !known {
		l.log.Warn("clients cannot be relayed to another server, and are sent away to reconnect: is its address right, "+
			"and does its certificate have that name?", "server", other.address, "job", other.id, "error", err)
	}
}

// introduce describes a client to the server of its job.
func (l *lobby) introduce(c *round.Client, other *remote) flower.Relayed {
	peer := c.Peer
	client := flower.Relayed{
		Token: l.together.Token(), Job: other.id, Client: c.Name(), Address: peer.Addr, Name: peer.Name, Label: peer.Label(),
	}
	if len(peer.Certificates) == 0 {
		client.Client += "@" + l.name // a proxy may call both servers from one address
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

// sendBack ends a relay for a job that this server does not conduct: the server that
// relays looks for the job again.
func (l *lobby) sendBack(ctx context.Context, c *round.Client) error {
	ctx, cancel := context.WithTimeout(ctx, farewell)
	defer cancel()
	return c.Session.Reconnect(ctx, 1)
}
