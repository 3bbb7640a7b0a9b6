package linktest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/iotenablers/enablers/multilink"
)

// keyChecks returns the rules about the keys that may send, and that a change disturbs no other peer.
func keyChecks() []Check[UnderlayHarness] {
	return []Check[UnderlayHarness]{
		{
			Name: "an unknown key", Rule: "A packet is taken only from a peer whose public key was opened.",
			experiment: onEnds(3, func(ends []*end) error {
				out, back, err := connect(ends[0], ends[1])
				if err != nil {
					return err
				}
				unknown, err := ends[2].open(ends[1], multilink.Key{}, true)
				if err != nil {
					return err
				}
				if err := silence(unknown, back); err != nil {
					return err
				}
				if err := stream(out, back, 1<<41, 50, 100); err != nil {
					return fmt.Errorf("of the peer, %w", err)
				}
				return inOrder(back, 1<<41, 50, 100)
			}),
		},
		{
			Name: "another peer's address", Rule: "A peer is identified by its private key, at any address.",
			experiment: onEnds(3, func(ends []*end) error {
				back, err := ends[1].open(ends[0], multilink.Key{}, false)
				if err != nil {
					return err
				}
				wrong := *ends[2] // its key, at the address of the other
				wrong.at = ends[1].at
				out, err := ends[0].open(&wrong, multilink.Key{}, true)
				if err != nil {
					return err
				}
				return silence(out, back)
			}),
		},
		{
			Name: "another preshared key", Rule: "Both ends need the same preshared key.",
			experiment: onEnds(2, func(ends []*end) error {
				back, err := ends[1].open(ends[0], multilink.Key{1}, false)
				if err != nil {
					return err
				}
				out, err := ends[0].open(ends[1], multilink.Key{2}, true)
				if err != nil {
					return err
				}
				if err := silence(out, back); err != nil {
					return err
				}
				if err := out.Close(); err != nil {
					return err
				}
				if out, err = ends[0].open(ends[1], multilink.Key{1}, true); err != nil {
					return err
				}
				return meet(out, back)
			}),
		},
		{
			Name: "a peer that is removed", Rule: "Once Close returned not one packet of the peer gets through, and others notice nothing.",
			experiment: onEnds(3, func(ends []*end) error {
				gone, goneBack, err := connect(ends[0], ends[2])
				if err != nil {
					return err
				}
				stays, staysBack, err := connect(ends[1], ends[2])
				if err != nil {
					return err
				}
				sent, stop := bursts(gone)
				defer stop()
				err = stream(stays, staysBack, 1<<32, 300, 400)
				if err == nil {
					err = goneBack.close()
				}
				closed := sent.Load()
				if err == nil {
					err = stream(stays, staysBack, 1<<32+300, 300, 400)
				}
				if err == nil { // the first may have left before
					err = within(gone.h.Timeout, "nothing more was sent", func() bool { return sent.Load() >= closed+2 })
				}
				stop()
				if err != nil {
					return err
				}
				if late := goneBack.afterClose(); late > 0 {
					return fmt.Errorf("%d packets of the peer got through after Close", late)
				}
				return inOrder(staysBack, 1<<32, 600, 400)
			}),
		},
		{
			Name: "peers that come and go", Rule: "Open and Close do not disturb the tunnels of others.",
			experiment: onEnds(4, func(ends []*end) error {
				out, back, err := connect(ends[0], ends[1])
				if err != nil {
					return err
				}
				var others sync.WaitGroup
				failed := make(chan error, 1)
				others.Go(func() {
					for i := range 20 {
						t, err := ends[1].open(ends[2+i%2], multilink.Key{}, i%4 < 2)
						if err == nil {
							err = t.Close()
						}
						if err != nil {
							failed <- err
							return
						}
					}
				})
				err = stream(out, back, 1<<32, 1000, 400)
				others.Wait()
				close(failed)
				return errors.Join(err, <-failed, inOrder(back, 1<<32, 1000, 400))
			}),
		},
		{
			Name: "a peer that comes back", Rule: "A peer can be opened again after Close, and is a duplicate before.",
			experiment: onEnds(2, func(ends []*end) error {
				out, back, err := connect(ends[0], ends[1])
				if err != nil {
					return err
				}
				_, err = ends[1].open(ends[0], multilink.Key{}, false)
				if err := refused("open it twice", err, multilink.ErrDuplicate); err != nil {
					return err
				}
				if err := stream(out, back, 1<<32, 50, 100); err != nil {
					return fmt.Errorf("after that, %w", err)
				}
				if err := back.close(); err != nil {
					return err
				}
				again, err := ends[1].open(ends[0], multilink.Key{}, false)
				if err != nil {
					return err
				}
				// The other end may have to find out that its keys are void.
				if err := out.Close(); err != nil {
					return err
				}
				if out, err = ends[0].open(ends[1], multilink.Key{}, true); err != nil {
					return err
				}
				if err := meet(out, again); err != nil {
					return err
				}
				if late := back.afterClose(); late > 0 {
					return fmt.Errorf("%d packets went to the tunnel that was closed", late)
				}
				return nil
			}),
		},
	}
}

// silence checks that nothing passes from out, which is new, to back.
func silence(out, back *tunnel) error {
	const first = uint64(1) << 40
	for n := range uint64(40) {
		_ = out.Send([][]byte{packet(first+n, 100)}) // whether it can is not the question
		_ = out.SendControl(packet(first+n, 100))
		if n%10 == 9 {
			pause()
		}
	}
	if got := countFrom(back, first); got > 0 {
		return fmt.Errorf("%d packets got through", got)
	}
	if got := out.count(); got > 0 {
		return fmt.Errorf("%d packets came back", got)
	}
	return nil
}
