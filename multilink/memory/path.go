package memory

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

// Path is a part of a [Network]: a link, in one direction or both.
type Path struct {
	// Link by name. Empty is all.
	Link string
	// From and To are addresses of hosts, as they were attached. The zero
	// value is any: with neither set, a path is the link both ways.
	From, To netip.Addr
}

// covers reports whether every packet on the other path is on p as well.
func (p Path) covers(other Path) bool {
	return (p.Link == "" || p.Link == other.Link) &&
		(!p.From.IsValid() || p.From == other.From) &&
		(!p.To.IsValid() || p.To == other.To)
}

// Impairment is what happens to packets on a path. The zero value is nothing.
type Impairment struct {
	// Loss is the fraction of packets that are lost, 0 to 1.
	Loss float64
	// Delay of every packet.
	Delay time.Duration
	// Jitter is added to it: each packet is late by a share of that, all
	// shares being equally likely. Packets do not overtake one another for it.
	Jitter time.Duration
	// Reorder is the fraction of packets that are held back for a
	// millisecond, and up to a delay and a jitter more, while others pass.
	Reorder float64
	// Duplicate is the fraction of packets that arrive twice.
	Duplicate float64
	// MTU is the length of the longest packet of the network below, in bytes; longer
	// ones vanish, and neither end learns of it. Zero means no limit.
	MTU int
	// Rate in bits per second, headers of the tunnel included. Zero is no
	// limit.
	Rate uint64
	// Queue is how many bytes wait where there is a rate. Zero is 64 KiB.
	Queue int
}

const (
	defaultQueue    = 64 << 10
	minReorderDelay = time.Millisecond
)

// Check reports the first field of i that is not allowed. It wraps ErrInvalid.
func (i Impairment) Check() error {
	fraction := func(v float64) bool { return v >= 0 && v <= 1 }
	switch {
	case !fraction(i.Loss):
		return fmt.Errorf("loss: must be 0 to 1, got %v: %w", i.Loss, multilink.ErrInvalid)
	case !fraction(i.Reorder):
		return fmt.Errorf("reorder: must be 0 to 1, got %v: %w", i.Reorder, multilink.ErrInvalid)
	case !fraction(i.Duplicate):
		return fmt.Errorf("duplicate: must be 0 to 1, got %v: %w", i.Duplicate, multilink.ErrInvalid)
	case i.Delay < 0 || i.Jitter < 0:
		return fmt.Errorf("delay and jitter: must be 0 or more, got %v and %v: %w", i.Delay, i.Jitter, multilink.ErrInvalid)
	case i.MTU < 0:
		return fmt.Errorf("mtu: must be 0 or more, got %d: %w", i.MTU, multilink.ErrInvalid)
	case i.Queue < 0:
		return fmt.Errorf("queue: must be 0 or more, got %d: %w", i.Queue, multilink.ErrInvalid)
	case i.Rate > 0 && i.Rate < 1000:
		return fmt.Errorf("rate: must be 1000 or more, got %d: %w", i.Rate, multilink.ErrInvalid)
	}
	return nil
}

type impairedPath struct {
	path Path
	with Impairment
}

// conduit is one direction of a link between two addresses.
type conduit struct {
	random *rand.Rand
	// free is when what waits will have left.
	free time.Time
	// last is when the last packet that keeps the order arrives: data, control.
	last [2]time.Time
}

// newConduit returns a conduit with a generator of its own, so that what happens
// elsewhere on the network does not change its impairments.
func newConduit(seed uint64, link string, from, to netip.Addr) *conduit {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %v %v", link, from, to)
	return &conduit{random: rand.New(rand.NewPCG(seed, h.Sum64()))}
}

// arrivals are when the copies of a packet arrive, of which there may be none.
type arrivals struct {
	at     [2]time.Time
	copies int
}

// room returns how long a packet must wait before the queue takes it.
func (c *conduit) room(now time.Time, size int, with Impairment) time.Duration {
	if with.Rate == 0 {
		return 0
	}
	queue := with.Queue
	if queue == 0 {
		queue = defaultQueue
	}
	waiting := c.free.Sub(now) + airtime(size, with.Rate)
	if allowed := airtime(max(queue, size), with.Rate); waiting > allowed {
		return waiting - allowed
	}
	return 0
}

// pass sends a packet for which there is room. Control packets pass those that wait.
// It draws the same count of numbers for every packet, so that one setting does not
// change which packets another setting affects.
func (c *conduit) pass(now time.Time, size int, control bool, with Impairment) arrivals {
	lost := c.random.Float64()
	again := c.random.Float64()
	late := c.random.Float64()
	jitter := c.random.Float64()
	hold := c.random.Float64()
	echo := c.random.Float64()

	leaves := now
	if with.Rate > 0 {
		took := airtime(size, with.Rate)
		if c.free.Before(now) {
			c.free = now
		}
		c.free = c.free.Add(took)
		if leaves = c.free; control {
			leaves = now.Add(took)
		}
	}
	if lost < with.Loss {
		return arrivals{}
	}
	share := func(d time.Duration, of float64) time.Duration { return time.Duration(float64(d) * of) }
	order := 0
	if control {
		order = 1
	}
	arrives := leaves.Add(with.Delay + share(with.Jitter, jitter))
	if arrives.Before(c.last[order]) {
		arrives = c.last[order]
	}
	if late < with.Reorder {
		arrives = arrives.Add(minReorderDelay + share(with.Delay+with.Jitter, hold))
	} else {
		c.last[order] = arrives
	}
	f := arrivals{at: [2]time.Time{arrives}, copies: 1}
	if again < with.Duplicate {
		f.at[1] = arrives.Add(share(with.Jitter, echo))
		f.copies = 2
	}
	return f
}

// airtime returns how long that many bytes take at a rate in bits per second.
func airtime(size int, rate uint64) time.Duration {
	return time.Duration(float64(size) * 8 / float64(rate) * float64(time.Second))
}
