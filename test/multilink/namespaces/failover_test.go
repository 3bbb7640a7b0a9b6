package namespaces

import (
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
			if policy.policy == "redundant" && !policy.replay {
				// Without replay nothing makes up for frames that find no link at all, and a process that is stopped
				// for 300 ms finds every link silent. These links may be silent for a second, and all at once for three.
				p.probe(100)
			}
			restored := p.up
			if policy.policy == "active-backup" || policy.policy == "adaptive" {
				restored = func() { p.settle(links[0].name) }
			}
			for _, fault := range faults() {
				restored()
				ping := small()
				if !policy.lossless {
					ping.Patience = time.Second // what is lost would be awaited
				}
				crossing := p.cross(conn, ping)
				crossing.carry(100)
				require.NoError(t, fault.happen(p.lab))
				p.down()
				crossing.carry(100)
				require.NoError(t, fault.restore(p.lab))
				restored()
				crossing.carry(100)
				pinged := crossing.end()
				t.Logf("%s: %v", fault.name, pinged)
				require.Zero(t, pinged.Duplicates, fault.name)
				if policy.lossless {
					require.Zero(t, pinged.Lost, fault.name)
				}
			}
		})
	}
}

// TestInstance_failover_losesNothingUnderLoad sends 10,000 packets per second, or as many as the machine carries.
func TestInstance_failover_losesNothingUnderLoad(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	for _, policy := range []string{"active-backup", "redundant"} {
		t.Run(policy, func(t *testing.T) {
			p.bond(policy, true)
			p.up()
			ping := small()
			ping.Interval, ping.Size = 100*time.Microsecond, 1300
			crossing := p.cross(conn, ping)
			crossing.carry(5000)
			require.NoError(t, p.lab.Cut(links[0].name))
			p.down()
			crossing.carry(5000)
			require.NoError(t, p.lab.Restore(links[0].name))
			p.up()
			crossing.carry(5000)
			pinged := crossing.end()
			t.Log(pinged)
			if pinged.Lost > 0 {
				t.Logf("client: %s\nserver: %s", p.client.lost(), p.server.lost())
			}
			require.Zero(t, pinged.Lost)
			require.Zero(t, pinged.Duplicates)
		})
	}
}

func TestInstance_avoidsAFlappingPrimary(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	// Longer than it takes to flap, however slow the machine is.
	p.set("active-backup", true, 10*time.Minute)
	// A process that is stopped for 300 ms must not find every link silent: the first one to be heard again is used at once.
	p.probe(30)
	crossing := p.cross(conn, small())
	for range 5 {
		require.NoError(t, p.lab.Cut(links[0].name))
		p.down()
		require.NoError(t, p.lab.Restore(links[0].name))
		await(t, "both ends to hear each other over the primary again", func() bool {
			return p.every(func(r linkRecord) bool { return r.Name != links[0].name || r.waits() })
		})
		crossing.carry(100)
		require.True(t, p.every(func(r linkRecord) bool { return r.Name != links[0].name || !r.Active }))
	}
	p.bond("active-backup", true) // for the next time that the primary is restored
	require.NoError(t, p.lab.Cut(links[0].name))
	p.down()
	require.NoError(t, p.lab.Restore(links[0].name))
	p.settle(links[0].name)
	crossing.carry(100)
	pinged := crossing.end()
	t.Log(pinged)
	require.Zero(t, pinged.Lost)
	require.Zero(t, pinged.Duplicates)
}

func TestInstance_recoversWhenAllLinksWereDown(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	p.bond("active-backup", true)
	for _, l := range links {
		require.NoError(t, p.lab.Cut(l.name))
	}
	await(t, "all links to be down", func() bool { return p.client.active() == "" && p.server.active() == "" })
	for _, l := range links {
		require.NoError(t, p.lab.Restore(l.name))
	}
	p.settle(links[0].name)
	crossing := p.cross(conn, small())
	crossing.carry(300)
	require.Zero(t, crossing.end().Lost)
}

func TestInstance_reconnectsAfterRestarts(t *testing.T) {
	p := connect(t)
	conn := p.echo()
	for _, i := range []**instance{&p.server, &p.client} {
		old := *i
		old.Kill()
		*i = start(t, p.lab, old.side, old.data)
		p.settle(links[0].name)
		crossing := p.cross(conn, netlab.Ping{Interval: 10 * time.Millisecond, Size: 100, Patience: time.Second})
		crossing.carry(30)
		crossing.end()
	}
}
