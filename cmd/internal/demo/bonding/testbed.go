package bonding

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/iotenablers/enablers/cmd/internal/demo/pair"
	"github.com/iotenablers/enablers/internal/netlab"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/wg"
)

const echoPort = 7

// firstPort is where the server listens on the first link.
const firstPort = 51820

// newTestbed creates network namespaces where the process has the right, and a network
// in memory otherwise.
func newTestbed(ctx context.Context, out io.Writer) (*testbed, error) {
	s, err := namespaceTestbed(ctx)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, os.ErrPermission) ||
		errors.Is(err, multilink.ErrDenied) || errors.Is(err, multilink.ErrUnsupported) {
		if _, err := fmt.Fprintf(out, "Network namespaces are not allowed here (%v): it is played in memory.\n", err); err != nil {
			return nil, err
		}
		return memoryTestbed()
	}
	return s, err
}

// namespaceTestbed is two network namespaces.
func namespaceTestbed(ctx context.Context) (_ *testbed, err error) {
	links := pair.Links(func(link int) netip.AddrPort {
		return netip.AddrPortFrom(netlab.Address(netlab.Server, link), uint16(firstPort+link))
	})
	names := make([]string, len(links))
	for i, l := range links {
		names[i] = l.Name
	}
	lab, err := netlab.New(names...)
	if err != nil {
		return nil, err
	}
	s := &testbed{
		kind:    "Both are network namespaces of this machine, with TAP devices and WireGuard.",
		cut:     lab.Cut,
		restore: lab.Restore,
		links:   links,
		closers: []func() error{lab.Close},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for side := range s.hosts {
		h, err := host.Open(ctx, &host.Options{
			Name: [2]string{"client", "server"}[side], Namespace: lab.Path(netlab.Side(side)),
			Underlay: func(ctx context.Context, c multilink.UnderlayConfig) (multilink.Underlay, error) {
				return wg.Open(ctx, c, nil)
			},
		})
		if err != nil {
			return nil, err
		}
		s.hosts[side] = h
		s.closers = append(s.closers, h.Close)
	}
	s.ping = func() (netlab.Conn, error) {
		at, _ := pair.Addresses()
		address := net.UDPAddrFromAddrPort(netip.AddrPortFrom(at.Addr(), echoPort))
		var server, client *net.UDPConn
		if err := lab.In(netlab.Server, func() (err error) {
			server, err = net.ListenUDP("udp4", address)
			return err
		}); err != nil {
			return nil, err
		}
		s.closers = append(s.closers, server.Close)
		go netlab.Echo(server)
		if err := lab.In(netlab.Client, func() (err error) {
			client, err = net.DialUDP("udp4", nil, address)
			return err
		}); err != nil {
			return nil, err
		}
		s.closers = append(s.closers, client.Close)
		return client, nil
	}
	return s, nil
}

// memoryTestbed is a network in memory.
func memoryTestbed() (*testbed, error) {
	inMemory, err := pair.NewMemory()
	if err != nil {
		return nil, err
	}
	hosts := [2]*memory.Host{netlab.Client: inMemory.Client, netlab.Server: inMemory.Server}
	s := &testbed{
		kind:    "All of it is in the memory of this process.",
		hosts:   [2]multilink.Host{hosts[0], hosts[1]},
		links:   inMemory.Links,
		closers: []func() error{inMemory.Close},
		cut:     func(link string) error { return inMemory.Network.Cut(memory.Path{Link: link}) },
		restore: func(link string) error { inMemory.Network.Heal(memory.Path{Link: link}); return nil },
	}
	s.ping = func() (netlab.Conn, error) {
		var conns [2]*frameConn
		for side, h := range hosts {
			port, err := h.Plug(pair.PortName)
			if err != nil {
				return nil, err
			}
			conns[side] = newFrameConn(port, byte(1+side))
		}
		go conns[netlab.Server].echo()
		return conns[netlab.Client], nil
	}
	return s, nil
}

// frameConn carries packets in frames to the station at the other end of the
// bonded network.
type frameConn struct {
	port    *memory.Port
	number  byte        // of the station
	packets chan []byte // is closed with the port

	mu       sync.Mutex
	deadline context.Context
	cancel   context.CancelFunc
}

const frameHeader = 14

func newFrameConn(port *memory.Port, number byte) *frameConn {
	c := &frameConn{port: port, number: number, packets: make(chan []byte, 1024)}
	c.deadline, c.cancel = context.WithCancel(context.Background())
	go func() {
		defer close(c.packets)
		var batch multilink.Batch
		for ; port.Read(&batch) == nil; batch.Reset() {
			for _, frame := range batch.Frames() {
				select {
				case c.packets <- append([]byte(nil), frame[frameHeader:]...):
				default: // not read: lost, as at a full socket
				}
			}
		}
	}()
	return c
}

func (c *frameConn) echo() {
	for packet := range c.packets {
		// A frame that cannot be sent is lost.
		_, _ = c.Write(packet)
	}
}

// Write broadcasts a packet.
func (c *frameConn) Write(packet []byte) (int, error) {
	frame := make([]byte, frameHeader, frameHeader+len(packet))
	copy(frame, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, c.number, 0x88, 0xb5})
	if err := c.port.Write([][]byte{append(frame, packet...)}); err != nil {
		return 0, err
	}
	return len(packet), nil
}

// Read takes the next packet.
func (c *frameConn) Read(buffer []byte) (int, error) {
	c.mu.Lock()
	deadline := c.deadline
	c.mu.Unlock()
	select {
	case packet, ok := <-c.packets:
		if !ok {
			return 0, net.ErrClosed
		}
		return copy(buffer, packet), nil
	case <-deadline.Done():
		return 0, os.ErrDeadlineExceeded
	}
}

// SetReadDeadline ends Read at that time. The zero time is none.
func (c *frameConn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.IsZero() {
		c.deadline, c.cancel = context.WithCancel(context.Background())
		return nil
	}
	time.AfterFunc(time.Until(t), c.cancel)
	return nil
}
