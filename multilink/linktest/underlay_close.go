package linktest

import (
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

// closeChecks returns the rules about ends, and about settings that are refused.
func closeChecks() []Check[UnderlayHarness] {
	return []Check[UnderlayHarness]{
		{
			Name: "a tunnel that is closed", Rule: "Send and SendControl return ErrClosed after Close; a second Close returns nil.",
			experiment: onPair(func(out, _ *tunnel) error {
				for range 2 {
					if err := out.close(); err != nil {
						return err
					}
				}
				if err := refused("Send", out.Send([][]byte{packet(1, 100)}), multilink.ErrClosed); err != nil {
					return err
				}
				return refused("SendControl", out.SendControl(packet(1, 100)), multilink.ErrClosed)
			}),
		},
		{
			Name: "an underlay that is closed", Rule: "Close ends all tunnels and waits for receive; Open returns " +
				"ErrClosed; a second Close returns nil.",
			experiment: onEnds(2, func(ends []*end) error {
				out, back, err := connect(ends[0], ends[1])
				if err != nil {
					return err
				}
				_, stop := bursts(out)
				defer stop()
				before := back.count()
				if err := within(out.h.Timeout, "nothing arrived", func() bool { return back.count() > before+20 }); err != nil {
					return err
				}
				if err := ends[1].underlay.Close(); err != nil {
					return err
				}
				if err := back.close(); err != nil { // it is closed, as its underlay is
					return err
				}
				pause()
				if late := back.afterClose(); late > 0 {
					return fmt.Errorf("receive had %d packets after Close", late)
				}
				if err := ends[1].underlay.Close(); err != nil {
					return fmt.Errorf("the second Close: %w", err)
				}
				if err := refused("Send", back.Send([][]byte{packet(1, 100)}), multilink.ErrClosed); err != nil {
					return err
				}
				_, err = ends[1].underlay.Open(multilink.TunnelPeer{PublicKey: multilink.Key{9}}, func([][]byte) {})
				return refused("Open", err, multilink.ErrClosed)
			}),
		},
		{
			Name: "ports", Rule: "Port is the configured one, or a free one; one that is taken is ErrAddressInUse.",
			experiment: onEnds(1, func(ends []*end) error {
				port := ends[0].underlay.Port()
				if port == 0 {
					return fmt.Errorf("it is 0")
				}
				h := ends[0].h
				config := multilink.UnderlayConfig{Link: h.Link, PrivateKey: private(200), Port: port}
				second, _, err := h.Underlay(0, config)
				if err == nil {
					_ = second.Close() // it should not be there
				}
				if err := refused("take it twice", err, multilink.ErrAddressInUse); err != nil {
					return err
				}
				if err := ends[0].underlay.Close(); err != nil {
					return err
				}
				second, _, err = h.Underlay(0, config)
				if err != nil {
					return fmt.Errorf("once it was free: %w", err)
				}
				defer second.Close()
				if got := second.Port(); got != port {
					return fmt.Errorf("%d was configured, and %d taken", port, got)
				}
				return nil
			}),
		},
		{
			Name: "keys that are none", Rule: "A zero key is ErrInvalid.",
			experiment: onEnds(1, func(ends []*end) error {
				_, err := ends[0].underlay.Open(multilink.TunnelPeer{}, func([][]byte) {})
				if err := refused("open a tunnel to it", err, multilink.ErrInvalid); err != nil {
					return err
				}
				_, _, err = ends[0].h.Underlay(0, multilink.UnderlayConfig{Link: ends[0].h.Link})
				return refused("have it for a private key", err, multilink.ErrInvalid)
			}),
		},
		{
			Name: "no answer from the other end", Rule: "Send does not wait for a peer that does not answer, nor does Close.",
			experiment: onEnds(2, func(ends []*end) error {
				silent := *ends[1]
				silent.at = netip.AddrPortFrom(ends[1].at.Addr(), 9)
				out, err := ends[0].open(&silent, multilink.Key{}, true)
				if err != nil {
					return err
				}
				waits, err := ends[1].open(ends[0], multilink.Key{}, false)
				if err != nil {
					return err
				}
				ended := make(chan error, 1)
				go func() {
					for n := range uint64(20) {
						_ = out.Send([][]byte{packet(n, 100)}) // ErrLinkDown or nil
						_ = waits.Send([][]byte{packet(n, 100)})
					}
					ended <- out.close()
				}()
				select {
				case err := <-ended:
					return err
				case <-time.After(ends[0].h.timeout()):
					return fmt.Errorf("they still wait after %v", ends[0].h.timeout())
				}
			}),
		},
	}
}

// bursts sends packets through a tunnel, 32 in every millisecond, until stop is called. The count is of the bursts so
// far.
func bursts(out *tunnel) (count *atomic.Uint64, stop func()) {
	count = new(atomic.Uint64)
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-over:
				return
			case <-ticker.C:
				var burst [][]byte
				for n := range uint64(32) {
					burst = append(burst, packet(n, 100))
				}
				_ = out.Send(burst) // whether it can is not the question
				count.Add(1)
			}
		}
	}()
	return count, sync.OnceFunc(func() { close(over); <-ended })
}

// pause gives what should not happen the time to happen.
func pause() { <-time.After(50 * time.Millisecond) }
