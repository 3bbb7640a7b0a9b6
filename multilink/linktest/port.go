package linktest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/iotenablers/enablers/multilink"
)

// PortHarness creates the port under test.
type PortHarness struct {
	// Port creates a port and its far end: what is written to the far end is read
	// from the port, and the other way round. It may carry frames of others
	// too; the suite's have EtherType 0x88b5. The suite closes both. Required.
	Port func() (port, far multilink.FramePort, err error)
	// Timeout bounds each wait for what must happen. Zero is 20 s.
	Timeout time.Duration
}

// RunFramePort tests every rule of FramePort.
func RunFramePort(t *testing.T, h PortHarness) {
	t.Helper()
	run(t, PortChecks(), h)
}

// experimental is the EtherType that IEEE 802 keeps for local experiments.
const experimental = 0x88b5

// etherFrame returns a frame with that many bytes of payload.
func etherFrame(number uint64, payload int) []byte {
	frame := make([]byte, 14, 14+payload)
	copy(frame, "\x02\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x02")
	binary.BigEndian.PutUint16(frame[12:], experimental)
	return append(frame, packet(number, payload)...)
}

// PortChecks returns the rules of FramePort.
func PortChecks() []Check[PortHarness] {
	return []Check[PortHarness]{
		{
			Name: "frames from the host", Rule: "Read appends whole frames, in their order.",
			experiment: onPort(func(port, far *framer) error { return exchange(far, port) }),
		},
		{
			Name: "frames to the host", Rule: "Write delivers whole frames, in their order.",
			experiment: onPort(func(port, far *framer) error { return exchange(port, far) }),
		},
		{
			Name: "Write keeps nothing", Rule: "Frames belong to the caller again once Write returns.",
			experiment: onPort(func(port, far *framer) error {
				want := etherFrame(1, 100)
				frame := bytes.Clone(want)
				if err := port.Write([][]byte{frame}); err != nil {
					return err
				}
				clear(frame)
				return far.expect([][]byte{want})
			}),
		},
		{
			Name: "a reader that waits", Rule: "Close ends Read and Write with ErrClosed; a second Close returns nil.",
			experiment: func(h PortHarness) error {
				port, far, err := h.Port()
				if err != nil {
					return err
				}
				defer far.Close()
				ended := make(chan error, 1)
				go func() {
					var batch multilink.Batch
					for {
						if err := port.Read(&batch); err != nil {
							ended <- err
							return
						}
						batch.Reset()
					}
				}()
				for range 2 {
					if err := port.Close(); err != nil {
						return fmt.Errorf("close: %w", err)
					}
				}
				bound := h.Timeout
				if bound == 0 {
					bound = patience
				}
				select {
				case err := <-ended:
					if err := refused("Read", err, multilink.ErrClosed); err != nil {
						return err
					}
				case <-time.After(bound):
					return errors.New("the reader goes on after Close")
				}
				return refused("Write", port.Write([][]byte{etherFrame(1, 100)}), multilink.ErrClosed)
			},
		},
		{
			Name: "the MTU", Rule: "A frame with a payload of MTU bytes passes both ways, and odd ones do no harm.",
			experiment: onPort(func(port, far *framer) error {
				for _, n := range []int{0, 1, 13} {
					_ = port.Write([][]byte{make([]byte, n)}) // dropped or refused, but alive
				}
				_ = port.Write([][]byte{make([]byte, multilink.MaxFrame+1)})
				want := [][]byte{etherFrame(1, port.MTU())}
				if err := port.Write(want); err != nil {
					return err
				}
				if err := far.expect(want); err != nil {
					return err
				}
				if err := far.Write(want); err != nil {
					return err
				}
				return port.expect(want)
			}),
		},
	}
}

// framer is an end of a port whose frames are read all the time.
type framer struct {
	multilink.FramePort
	timeout time.Duration

	mu  sync.Mutex
	got [][]byte
}

func (f *framer) read() {
	var batch multilink.Batch
	for f.Read(&batch) == nil {
		f.mu.Lock()
		for _, frame := range batch.Frames() {
			if len(frame) > 14 && binary.BigEndian.Uint16(frame[12:]) == experimental {
				f.got = append(f.got, bytes.Clone(frame))
			}
		}
		f.mu.Unlock()
		batch.Reset()
	}
}

func (f *framer) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.got)
}

// expect waits for frames, and takes them.
func (f *framer) expect(want [][]byte) error {
	err := within(f.timeout, "not all frames arrived", func() bool { return f.count() >= len(want) })
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range min(len(want), len(f.got)) {
		// A device may pad a short frame to 60 bytes.
		if got := f.got[i]; !bytes.Equal(got[:min(len(got), len(want[i]))], want[i]) {
			return fmt.Errorf("frame %d arrived changed or out of order: %d bytes for %d", i, len(got), len(want[i]))
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %d of %d", err, len(f.got), len(want))
	}
	f.got = nil
	return nil
}

func onPort(experiment func(port, far *framer) error) func(PortHarness) error {
	return func(h PortHarness) (err error) {
		port, far, err := h.Port()
		if err != nil {
			return err
		}
		ends := []*framer{{FramePort: port, timeout: h.Timeout}, {FramePort: far, timeout: h.Timeout}}
		var reading sync.WaitGroup
		for _, f := range ends {
			reading.Go(f.read)
		}
		defer func() {
			err = errors.Join(err, port.Close(), far.Close())
			reading.Wait()
		}()
		return experiment(ends[0], ends[1])
	}
}

// exchange sends frames of many sizes in small batches.
func exchange(from, to *framer) error {
	for i := range uint64(40) {
		var frames [][]byte
		for n := range 8 {
			frames = append(frames, etherFrame(8*i+uint64(n), 46+(int(i)*8+n)*(from.MTU()-46)/320))
		}
		if err := from.Write(frames); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if err := to.expect(frames); err != nil {
			return err
		}
	}
	return nil
}
