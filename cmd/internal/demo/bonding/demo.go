// Package bonding demonstrates a failover: two instances of multilink with three
// links between them, and a ping over them while the primary link is cut and
// restored, again and again.
package bonding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
)

// Config configures [Run]. Both fields are required.
type Config struct {
	// Listener is where the page of the server is. Run closes it.
	Listener net.Listener
	// Output gets a line for everything that happens.
	Output io.Writer
}

const patience = time.Minute // the longest wait for an event

// script is how the demonstration goes: again and again all is well for a while, and then
// the primary link is cut for a while.
type script struct {
	calm, outage time.Duration
	every        time.Duration // between two packets
	rounds       int           // zero means until the context ends
}

// Run runs the demonstration until the context ends, and prints what happens. As root on
// Linux it uses network namespaces, TAP devices and WireGuard; otherwise a network in
// memory.
func Run(ctx context.Context, config Config) error {
	defer func() { _ = config.Listener.Close() }() // closed already by its server
	s, err := newTestbed(ctx, config.Output)
	if err != nil {
		return err
	}
	err = play(ctx, config, s, script{calm: 14 * time.Second, outage: 5 * time.Second, every: 5 * time.Millisecond})
	return errors.Join(err, s.close())
}

// testbed is the network that the demonstration uses.
type testbed struct {
	kind  string // for people
	hosts [2]multilink.Host
	// links between them, the primary first.
	links   []pair.Link
	cut     func(link string) error
	restore func(link string) error
	// ping opens a connection from the client's applications to an echo service
	// among the server's.
	ping    func() (netlab.Conn, error)
	closers []func() error // in the order of opening
}

func (s *testbed) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// reporter prints events with their times.
type reporter struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
	err   error
}

func (n *reporter) say(format string, args ...any) {
	n.write("%6.2f s  %s\n", time.Since(n.start).Seconds(), fmt.Sprintf(format, args...))
}

func (n *reporter) write(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, err := fmt.Fprintf(n.out, format, args...)
	n.err = errors.Join(n.err, err)
}

// failure is the error of printing, if any.
func (n *reporter) failure() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.err
}

func play(ctx context.Context, config Config, s *testbed, script script) (err error) {
	cast, err := newInstances(ctx, s, config.Listener)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cast.close()) }()
	if _, err := fmt.Fprintf(config.Output, "listening on %s\n\nTwo hosts and three links between them, the primary first: wifi0, mesh0, "+
		"wwan0.\n%s\nWatch it at %s (server) and %s (client): sign in with the token %s\nCtrl-C ends it, and nothing is left behind.\n\n",
		cast.server.url, s.kind, cast.server.url, cast.client.url, cast.token); err != nil {
		return err
	}
	n := &reporter{out: config.Output, start: time.Now()}
	defer cast.follow(ctx, n)()
	err = cutAgainAndAgain(ctx, s, cast, n, script)
	if ctx.Err() != nil {
		n.say("ended")
		return n.failure()
	}
	return errors.Join(err, n.failure())
}

// cutAgainAndAgain connects the two, and then cuts and restores the primary link, as often
// as the script says.
func cutAgainAndAgain(ctx context.Context, s *testbed, cast *instances, n *reporter, script script) error {
	if err := cast.connect(ctx); err != nil {
		return err
	}
	if err := cast.active(ctx, s.links[0].Name); err != nil {
		return err
	}
	n.say("connected; the client sends a packet every %v, the server sends it back", script.every)
	conn, err := s.ping()
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	for round := 0; script.rounds == 0 || round < script.rounds; round++ {
		pinged, err := cutAndRestore(ctx, s, cast, n, script, conn)
		if err != nil {
			return err
		}
		n.say("what a user noticed of it: %v", pinged)
	}
	return nil
}

// cutAndRestore cuts the primary and restores it during a ping.
func cutAndRestore(ctx context.Context, s *testbed, cast *instances, n *reporter, script script, conn netlab.Conn) (netlab.Pinged, error) {
	pinging, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		pinged netlab.Pinged
		failed error
		done   = make(chan struct{})
	)
	go func() {
		defer close(done)
		pinged, failed = netlab.Ping{Interval: script.every, Size: 100}.Run(pinging, conn)
	}()
	err := wait(ctx, script.calm)
	for _, step := range []func() error{
		func() error {
			return report(n, "the air swallows everything on wifi0; its carrier stays", s.cut(s.links[0].Name))
		},
		func() error { return wait(ctx, script.outage) },
		func() error { return report(n, "wifi0 is restored", s.restore(s.links[0].Name)) },
		func() error { return cast.active(ctx, s.links[0].Name) },
		func() error { return wait(ctx, min(script.outage, time.Second)) },
	} {
		if err == nil {
			err = step()
		}
	}
	cancel()
	<-done
	return pinged, errors.Join(err, failed)
}

func report(n *reporter, what string, err error) error {
	if err == nil {
		n.say("%s", what)
	}
	return err
}

// wait waits for a while, or until the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
