package linktest

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

// UnderlayHarness creates the underlays under test.
type UnderlayHarness struct {
	// Underlay creates one on a host, and says at which address other hosts reach
	// it. Hosts are numbered from 0 and may all be one machine. Link, private
	// key and port are the suite's; everything else of the settings is the
	// harness's. Required. The suite closes what it created.
	Underlay func(host int, config multilink.UnderlayConfig) (multilink.Underlay, netip.Addr, error)
	// Link is the name that is given to the underlays.
	Link string
	// Roam gives a host another address, from which its underlay goes on. Nil
	// skips the check that needs it.
	Roam func(host int) error
	// Slow has everything that a host sends take its time, at a megabit per
	// second, until the function that it returns is called. Nil skips the
	// check that needs it.
	Slow func(host int) (restore func(), err error)
	// Timeout bounds each wait for what must happen. Zero is 20 s.
	Timeout time.Duration
}

// timeout returns Timeout or its default.
func (h UnderlayHarness) timeout() time.Duration { return cmp.Or(h.Timeout, patience) }

// RunUnderlay tests every rule of Underlay and Tunnel.
func RunUnderlay(t *testing.T, h UnderlayHarness) {
	t.Helper()
	run(t, UnderlayChecks(), h)
}

// UnderlayChecks returns the rules of Underlay and Tunnel.
func UnderlayChecks() []Check[UnderlayHarness] {
	return append([]Check[UnderlayHarness]{
		{
			Name: "packets arrive whole and in order", Rule: "Send takes the packets in their order; headers arrive as they were.",
			experiment: onPair(func(out, back *tunnel) error {
				for i, size := range []int{multilink.HeaderSize, multilink.HeaderSize + 1, 100, out.MTU() - 1, out.MTU()} {
					first := uint64(i+1) << 32
					if err := errors.Join(stream(out, back, first, 200, size), inOrder(back, first, 200, size)); err != nil {
						return fmt.Errorf("with packets of %d bytes: %w", size, err)
					}
					if err := errors.Join(stream(back, out, first, 200, size), inOrder(out, first, 200, size)); err != nil {
						return fmt.Errorf("on the way back, with packets of %d bytes: %w", size, err)
					}
				}
				return nil
			}),
		},
		{
			Name: "the MTU is that of the link", Rule: "MTU is positive and less than the link's by the headers of the tunnel.",
			experiment: onPair(func(out, _ *tunnel) error {
				if mtu := out.MTU(); mtu < 500 || mtu > 65535-28 {
					return fmt.Errorf("it is %d", mtu)
				}
				return nil
			}),
		},
		{
			Name: "Send copies", Rule: "The packets belong to the caller again once Send returns.",
			experiment: onPair(func(out, back *tunnel) error {
				first := uint64(1) << 32
				p := make([]byte, 200)
				for i := range uint64(50) {
					copy(p, packet(first+i, 200))
					if err := out.Send([][]byte{p}); err != nil {
						return err
					}
					clear(p)
				}
				if err := within(out.h.Timeout, "not all packets arrived",
					func() bool { return countFrom(back, first) >= 50 }); err != nil {
					return err
				}
				return inOrder(back, first, 50, 200)
			}),
		},
		{
			Name: "control arrives", Rule: "SendControl sends a packet as Send does.",
			experiment: onPair(func(out, back *tunnel) error {
				const first = uint64(1) << 32
				for i := range 20 {
					if err := out.SendControl(packet(first+uint64(i), 64)); err != nil {
						return err
					}
					if err := within(out.h.Timeout, "a packet did not arrive",
						func() bool { return countFrom(back, first) > i }); err != nil {
						return err
					}
				}
				return inOrder(back, first, 20, 64)
			}),
		},
		{
			Name: "control goes first", Rule: "SendControl overtakes what waits in Send, and never waits.",
			Needs: func(h UnderlayHarness) string {
				if h.Slow == nil {
					return "the harness cannot slow a link down"
				}
				return ""
			},
			experiment: onPair(controlFirst),
		},
		{
			Name: "figures", Rule: "Stats has the handshake, the peer's endpoint and the bytes on the wire, at once or a moment later.",
			experiment: onPair(func(out, back *tunnel) error {
				if err := stream(out, back, 1<<32, 100, 500); err != nil {
					return err
				}
				if err := within(out.h.Timeout, "50000 bytes were not counted at both ends", func() bool {
					return out.Stats().Sent >= 100*500 && back.Stats().Received >= 100*500
				}); err != nil {
					return err
				}
				sent, received := out.Stats(), back.Stats()
				switch {
				case sent.Handshake.IsZero(), received.Handshake.IsZero():
					return errors.New("there was no handshake")
				case !sent.Endpoint.IsValid(), !received.Endpoint.IsValid():
					return fmt.Errorf("the peers were heard from %v and %v", sent.Endpoint, received.Endpoint)
				}
				return nil
			}),
		},
		{
			Name: "use by many at once", Rule: "A tunnel is safe for use by several goroutines, Close among them.",
			experiment: onPair(func(out, back *tunnel) error {
				var all sync.WaitGroup
				failed := make(chan error, 8)
				for i := range 4 {
					all.Go(func() {
						for n := range uint64(1000) {
							err := out.Send([][]byte{packet(n, 100), packet(n, 200)})
							if i == 0 {
								err = out.SendControl(packet(n, 60))
							}
							_, _ = out.Stats(), out.MTU()
							if errors.Is(err, multilink.ErrClosed) {
								return
							}
							if err != nil {
								failed <- fmt.Errorf("send: %w", err)
								return
							}
						}
					})
				}
				if err := within(out.h.Timeout, "nothing arrived", func() bool { return back.count() > 50 }); err != nil {
					return err
				}
				for range 2 {
					all.Go(func() {
						if err := out.Close(); err != nil {
							failed <- fmt.Errorf("close: %w", err)
						}
					})
				}
				all.Wait()
				close(failed)
				return <-failed
			}),
		},
		{
			Name: "an end that roams", Rule: "A tunnel answers to wherever the last authentic packet came from.",
			Needs: func(h UnderlayHarness) string {
				if h.Roam == nil {
					return "the harness cannot give a host another address"
				}
				return ""
			},
			experiment: onPair(func(out, back *tunnel) error {
				before := back.Stats().Endpoint
				if err := out.h.Roam(0); err != nil {
					return err
				}
				if err := meet(out, back); err != nil {
					return err
				}
				if after := back.Stats().Endpoint; after == before {
					return fmt.Errorf("the peer is still thought to be at %v", after)
				}
				return nil
			}),
		},
	}, append(keyChecks(), closeChecks()...)...)
}

// onPair creates an initiator, host 0, and a responder, host 1.
func onPair(experiment func(out, back *tunnel) error) func(UnderlayHarness) error {
	return onEnds(2, func(ends []*end) error {
		out, back, err := connect(ends[0], ends[1])
		if err != nil {
			return err
		}
		return experiment(out, back)
	})
}

func onEnds(n int, experiment func([]*end) error) func(UnderlayHarness) error {
	return func(h UnderlayHarness) (err error) {
		r := &rig{h: h}
		defer r.close(&err)
		for range n {
			if _, err := r.end(); err != nil {
				return err
			}
		}
		return experiment(r.ends)
	}
}

// controlFirst tries it several times, since a machine that stops this process for long enough leaves nothing to
// overtake.
func controlFirst(out, back *tunnel) (err error) {
	restore, err := out.h.Slow(0)
	if err != nil {
		return err
	}
	defer restore()
	for trial := range uint64(5) {
		if err = overtake(out, back, (1+trial)<<32); err == nil {
			return nil
		}
	}
	return err
}

// overtake sends data, and a control packet that must arrive before the last of it. Numbers begin at first.
func overtake(out, back *tunnel, first uint64) error {
	const data = 50
	for i := range uint64(data) {
		if err := out.Send([][]byte{packet(first+i, 1000)}); err != nil {
			return err
		}
	}
	control := first + data
	if err := out.SendControl(packet(control, 100)); err != nil {
		return err
	}
	waited := countFrom(back, first) >= data
	if err := within(out.h.Timeout, "not all packets arrived", func() bool { return countFrom(back, first) > data }); err != nil {
		return err
	}
	all := back.all()
	switch {
	case waited:
		return errors.New("SendControl waited until all was sent")
	case frameNumber(all[len(all)-1]) == control:
		return errors.New("it was the last to arrive")
	}
	return nil
}
