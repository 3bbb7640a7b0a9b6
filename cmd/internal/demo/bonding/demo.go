// Package bonding demonstrates a failover: two instances of multilink with three
// links between them, and a ping over them while the primary link is cut and
// restored.
package bonding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
)

const (
	phase    = time.Second // how long each phase lasts
	patience = time.Minute // the longest wait for an event
)

// Run runs the demonstration and prints what happens. It takes a few seconds.
// As root on Linux it uses network namespaces, TAP devices and WireGuard;
// otherwise a network in memory.
func Run(ctx context.Context, out io.Writer) error {
	s, err := newTestbed(ctx, out)
	if err != nil {
		return err
	}
	return errors.Join(play(ctx, out, s, time.Millisecond), s.close())
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

func play(ctx context.Context, out io.Writer, s *testbed, every time.Duration) (err error) {
	cast, err := newInstances(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cast.close()) }()
	if _, err := fmt.Fprintf(out, "Two hosts and three links between them, the primary first: wifi0, mesh0, "+
		"wwan0.\n%s\nTheir pages, while this runs: %s (server), %s (client); token %s\n\n",
		s.kind, cast.server.url, cast.client.url, cast.token); err != nil {
		return err
	}
	n := &reporter{out: out, start: time.Now()}
	defer cast.follow(ctx, n)()
	if err := cast.connect(ctx); err != nil {
		return err
	}
	if err := cast.active(ctx, s.links[0].Name); err != nil {
		return err
	}
	n.say("connected; the client sends a packet every %v, the server sends it back", every)
	pinged, err := cutAndRestore(ctx, s, cast, n, every)
	if err != nil {
		return errors.Join(err, n.failure())
	}
	n.write("\nWhat a user noticed of it: %v\n", pinged)
	return n.failure()
}

// cutAndRestore cuts the primary and restores it during a ping at that interval.
func cutAndRestore(ctx context.Context, s *testbed, cast *instances, n *reporter, every time.Duration) (netlab.Pinged, error) {
	conn, err := s.ping()
	if err != nil {
		return netlab.Pinged{}, fmt.Errorf("ping: %w", err)
	}
	pinging, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		pinged netlab.Pinged
		failed error
		done   = make(chan struct{})
	)
	go func() {
		defer close(done)
		pinged, failed = netlab.Ping{Interval: every, Size: 100}.Run(pinging, conn)
	}()
	err = errors.Join(
		rest(ctx),
		report(n, "the air swallows everything on wifi0; its carrier stays", s.cut(s.links[0].Name)),
		rest(ctx),
		report(n, "wifi0 is restored", s.restore(s.links[0].Name)),
		cast.active(ctx, s.links[0].Name),
		rest(ctx),
	)
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

// rest waits for a phase.
func rest(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(phase):
		return nil
	}
}
