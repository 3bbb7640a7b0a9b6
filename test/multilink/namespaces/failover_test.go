package namespaces

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/netlab"
)

// fault is something that happens to the primary link.
type fault struct {
	name    string
	happen  func(*netlab.Lab) error
	restore func(*netlab.Lab) error
}

func faults() []fault {
	primary := links[0].name
	restore := func(l *netlab.Lab) error { return l.Restore(primary) }
	return []fault{
		{"silent", func(l *netlab.Lab) error { return l.Cut(primary) }, restore},
		{"silent towards the client", func(l *netlab.Lab) error { return l.Pass(primary, netlab.Client, false) }, restore},
		{"silent towards the server", func(l *netlab.Lab) error { return l.Pass(primary, netlab.Server, false) }, restore},
		{"carrier of the client", func(l *netlab.Lab) error { return l.Carrier(primary, netlab.Client, false) },
			func(l *netlab.Lab) error { return l.Carrier(primary, netlab.Client, true) }},
		{"carrier of the server", func(l *netlab.Lab) error { return l.Carrier(primary, netlab.Server, false) },
			func(l *netlab.Lab) error { return l.Carrier(primary, netlab.Server, true) }},
	}
}

// during pings while something happens.
func (p *pair) during(ping netlab.Ping, conn *net.UDPConn, f func()) netlab.Pinged {
	ctx, cancel := context.WithCancel(p.t.Context())
	type outcome struct {
		pinged netlab.Pinged
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		pinged, err := ping.Run(ctx, conn)
		done <- outcome{pinged, err}
	}()
	f()
	cancel()
	o := <-done
	require.NoError(p.t, o.err)
	return o.pinged
}

// wait lets real time pass: what is tried here is how processes behave in it.
func wait(t *testing.T, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

func TestInstance_failsOverAndReturns(t *testing.T) {
	for _, policy := range []struct {
		name, policy string
		replay       bool
		lossless     bool
	}{
		{"active-backup", "active-backup", false, false},
		{"active-backup with replay", "active-backup", true, true},
		{"redundant", "redundant", true, true},
		{"redundant without replay", "redundant", false, true},
		{"adaptive", "adaptive", true, true},
		{"balance-flow", "balance-flow", true, true},
	} {
		t.Run(policy.name, func(t *testing.T) {
			p := connect(t)
			conn := p.echo()
			p.bond(policy.policy, policy.replay)
			restored := p.up
			if policy.policy == "active-backup" || policy.policy == "adaptive" {
				restored = func() { p.settle(links[0].name) }
			}
			// The first packet asks for an address, and may be late.
			p.during(netlab.Ping{Interval: 5 * time.Millisecond, Size: 100, Patience: 100 * time.Millisecond}, conn,
				func() { wait(t, 50*time.Millisecond) })
			for _, fault := range faults() {
				restored()
				pinged := p.during(netlab.Ping{Interval: time.Millisecond, Size: 100, Patience: time.Second}, conn, func() {
					wait(t, 200*time.Millisecond)
					require.NoError(t, fault.happen(p.lab))
					wait(t, 500*time.Millisecond)
					require.NoError(t, fault.restore(p.lab))
					restored()
					wait(t, 100*time.Millisecond)
				})
				t.Logf("%s: %v", fault.name, pinged)
				require.Zero(t, pinged.Duplicates, fault.name)
				if policy.lossless {
					require.Zero(t, pinged.Lost, fault.name)
				}
				// Whatever the machine does meanwhile: this many are no failover.
				require.Less(t, pinged.Lost, pinged.Sent/2, fault.name)
			}
		})
	}
}

// up waits until every link is up at both ends.
func (p *pair) up() {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		for _, i := range []*instance{p.client, p.server} {
			for _, r := range i.interfaces() {
				if r.State != "up" {
					return false
				}
			}
		}
		return true
	}, time.Minute, 20*time.Millisecond, "the links are not up")
}

func TestInstance_failover_losesNothingUnderLoad(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	for _, policy := range []string{"active-backup", "redundant"} {
		t.Run(policy, func(t *testing.T) {
			p.bond(policy, true)
			p.up()
			pinged := p.during(netlab.Ping{Interval: 100 * time.Microsecond, Size: 1300}, conn, func() {
				wait(t, time.Second)
				require.NoError(t, p.lab.Cut(links[0].name))
				wait(t, time.Second)
				require.NoError(t, p.lab.Restore(links[0].name))
				wait(t, time.Second)
			})
			t.Log(pinged)
			if pinged.Lost > 0 {
				t.Logf("client: %s\nserver: %s", p.client.lost(), p.server.lost())
			}
			require.Zero(t, pinged.Lost)
			require.Zero(t, pinged.Duplicates)
			require.Greater(t, pinged.Sent, 20_000)
			p.up()
		})
	}
}

func TestInstance_avoidsAFlappingPrimary(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	pinged := p.during(netlab.Ping{Interval: time.Millisecond, Size: 100}, conn, func() {
		for range 5 {
			require.NoError(t, p.lab.Cut(links[0].name))
			wait(t, 100*time.Millisecond)
			require.NoError(t, p.lab.Restore(links[0].name))
			wait(t, 300*time.Millisecond)
		}
		require.Equal(t, links[1].name, p.client.active())
		p.settle(links[0].name)
	})
	t.Log(pinged)
	require.Zero(t, pinged.Lost)
	require.Zero(t, pinged.Duplicates)
}

func TestInstance_recoversWhenAllLinksWereDown(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	for _, l := range links {
		require.NoError(t, p.lab.Cut(l.name))
	}
	require.Eventually(t, func() bool { return p.client.active() == "" && p.server.active() == "" }, time.Minute, 20*time.Millisecond)
	for _, l := range links {
		require.NoError(t, p.lab.Restore(l.name))
	}
	p.settle(links[0].name)
	pinged := p.during(netlab.Ping{Interval: time.Millisecond, Size: 100, Patience: time.Second}, conn,
		func() { wait(t, 300*time.Millisecond) })
	require.Zero(t, pinged.Lost)
}

func TestInstance_reconnectsAfterRestarts(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	for _, i := range []**instance{&p.server, &p.client} {
		old := *i
		old.Kill()
		*i = start(t, p.lab, old.side, old.data)
		p.settle(links[0].name)
		pinged := p.during(netlab.Ping{Interval: 10 * time.Millisecond, Size: 100}, conn, func() { wait(t, 300*time.Millisecond) })
		require.Less(t, pinged.Lost, pinged.Sent)
	}
}
