// Package bonding demonstrates a failover: two instances of multilink have three links
// between them, a client pings across, and the primary link is cut and restored
// meanwhile.
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
	interval = time.Second // between two events
	patience = time.Minute // how long to wait for an event
)

// Run runs the demonstration and reports each event. It takes a few seconds. As root on
// Linux it uses network namespaces, TAP devices and WireGuard; otherwise it uses a
// network in memory.
func Run(ctx context.Context, out io.Writer) error {
	s, err := openNetwork(out)
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, out, s, time.Millisecond), s.close())
}

// network is two hosts with links between them.
type network struct {
	kind  string // a sentence for the output
	hosts [2]multilink.Host
	// links between them, the primary first.
	links   []pair.Link
	cut     func(link string) error
	restore func(link string) error
	// ping opens a connection from the client's host to an echo service on the server's
	// host.
	ping    func() (netlab.Conn, error)
	closers []func() error // in the order of opening
}

func (s *network) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// reporter writes events with their times.
type reporter struct {
	mu    sync.Mutex
	out   io.Writer
	start time.Time
	err   error
}

func (r *reporter) report(format string, args ...any) {
	r.write("%6.2f s  %s\n", time.Since(r.start).Seconds(), fmt.Sprintf(format, args...))
}

func (r *reporter) write(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, err := fmt.Fprintf(r.out, format, args...)
	r.err = errors.Join(r.err, err)
}

// failure returns the errors of writing.
func (r *reporter) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func run(ctx context.Context, out io.Writer, s *network, every time.Duration) (err error) {
	both, err := openInstances(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, both.close()) }()
	if _, err := fmt.Fprintf(out,
		"Two hosts and three links between them, the primary first: wifi0, mesh0, wwan0.\n%s\nTheir pages, while "+
			"this runs: %s (server), %s (client); token %s\n\n",
		s.kind, both.server.url, both.client.url, both.token); err != nil {
		return err
	}
	r := &reporter{out: out, start: time.Now()}
	defer both.follow(ctx, r)()
	if err := both.connect(ctx); err != nil {
		return err
	}
	if err := both.active(ctx, s.links[0].Name); err != nil {
		return err
	}
	r.report("connected; the client sends a packet every %v, the server sends it back", every)
	pinged, err := failOver(ctx, s, both, r, every)
	if err != nil {
		return errors.Join(err, r.failure())
	}
	r.write("\nWhat a user noticed: %v\n", pinged)
	return r.failure()
}

// failOver cuts the primary link and restores it while the client pings.
func failOver(ctx context.Context, s *network, both *instances, r *reporter, every time.Duration) (netlab.Pinged, error) {
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
		pause(ctx),
		reported(r, "wifi0 loses every packet; its carrier stays up", s.cut(s.links[0].Name)),
		pause(ctx),
		reported(r, "wifi0 is restored", s.restore(s.links[0].Name)),
		both.active(ctx, s.links[0].Name),
		pause(ctx),
	)
	cancel()
	<-done
	return pinged, errors.Join(err, failed)
}

func reported(r *reporter, what string, err error) error {
	if err == nil {
		r.report("%s", what)
	}
	return err
}

// pause waits for one interval.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(interval):
		return nil
	}
}
