package host_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
)

// cable is two hosts whose ports are connected by goroutines, as two ends of a
// bonded network.
type cable struct {
	networks [2]*network
	hosts    [2]*host.Host
	ports    [2]multilink.FramePort
	done     sync.WaitGroup
}

func newCable(t testing.TB, noOffload [2]bool) *cable {
	t.Helper()
	c := new(cable)
	for i := range c.hosts {
		c.networks[i] = newNetwork(t)
		c.hosts[i] = c.networks[i].host(host.Options{NoOffload: noOffload[i]})
		port, err := c.hosts[i].Port(t.Context(), multilink.PortConfig{
			Name: "ml0", Addresses: addresses(fmt.Sprintf("10.9.0.%d/24", i+1), fmt.Sprintf("fd00::%d/64", i+1)), MTU: 1400})
		require.NoError(t, err)
		c.ports[i] = port
	}
	for i := range c.ports {
		c.done.Go(func() { pump(c.ports[i], c.ports[1-i]) })
	}
	t.Cleanup(func() {
		for i := range c.ports {
			require.NoError(t, c.ports[i].Close())
		}
		c.done.Wait()
	})
	return c
}

// pump moves frames until a port is closed.
func pump(from, to multilink.FramePort) {
	var batch multilink.Batch
	for {
		batch.Reset()
		if from.Read(&batch) != nil || to.Write(batch.Frames()) != nil {
			return
		}
	}
}

// listen and dial make the ends of a connection over the cable.
func (c *cable) connect(t testing.TB, address string) (client, server net.Conn) {
	t.Helper()
	var listener net.Listener
	require.NoError(t, c.hosts[1].In(func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(address, "0"))
		return err
	}))
	defer listener.Close()
	require.NoError(t, c.hosts[0].In(func() (err error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		client, err = new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		return err
	}))
	server, err := listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestPort_carriesTCPThroughOffload(t *testing.T) {
	for name, noOffload := range map[string][2]bool{"both": {}, "receiver only": {true, false},
		"sender only": {false, true}, "neither": {true, true}} {
		t.Run(name, func(t *testing.T) {
			c := newCable(t, noOffload)
			for _, address := range append([]string{"10.9.0.2", "fd00::2"}, c.tag(t)...) {
				client, server := c.connect(t, address)
				exchange(t, client, server)
			}
			for _, port := range c.ports {
				require.Zero(t, port.(*host.Port).Dropped())
			}
			for _, n := range c.networks {
				bad := n.run("nstat -asz TcpInCsumErrors", "nstat -asz IpInHdrErrors")
				require.Regexp(t, `TcpInCsumErrors +0 `, bad)
				require.Regexp(t, `IpInHdrErrors +0 `, bad)
			}
		})
	}
}

// tag creates VLANs on the ports, where the kernel has them, and returns the
// second one's address.
func (c *cable) tag(t *testing.T) []string {
	t.Helper()
	for i, n := range c.networks {
		if _, err := n.try("ip link add link ml0 name ml0.7 type vlan id 7"); err != nil {
			t.Log("this kernel has no VLAN devices: ", err)
			return nil
		}
		n.run("ip link set ml0.7 mtu 1396 up", fmt.Sprintf("ip address add 10.9.7.%d/24 dev ml0.7", i+1))
	}
	return []string{"10.9.7.2"}
}

func TestPort_carriesUDPThroughOffload(t *testing.T) {
	c := newCable(t, [2]bool{})
	var receiver, sender net.PacketConn
	for i, end := range []*net.PacketConn{&sender, &receiver} {
		require.NoError(t, c.hosts[i].In(func() (err error) {
			*end, err = net.ListenPacket("udp", fmt.Sprintf("10.9.0.%d:0", i+1))
			return err
		}))
		defer (*end).Close()
	}
	raw, err := sender.(*net.UDPConn).SyscallConn()
	require.NoError(t, err)
	const size = 1200
	require.NoError(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, size) }))
	require.NoError(t, err)
	payload := make([]byte, 20*size+7)
	_, _ = rand.NewChaCha8([32]byte{}).Read(payload)
	_, err = sender.WriteTo(payload, receiver.LocalAddr())
	require.NoError(t, err)
	require.NoError(t, receiver.SetReadDeadline(time.Now().Add(patience)))
	for len(payload) > 0 {
		datagram := make([]byte, 1<<16)
		n, _, err := receiver.ReadFrom(datagram)
		require.NoError(t, err)
		require.Equal(t, payload[:min(size, len(payload))], datagram[:n])
		payload = payload[n:]
	}
	require.Zero(t, c.ports[0].(*host.Port).Dropped())
}

// exchange sends some megabytes both ways at once and compares what arrives.
func exchange(t *testing.T, a, b net.Conn) {
	t.Helper()
	const size = 8 << 20
	var done sync.WaitGroup
	var sent, received [2][]byte
	for i, way := range [][2]net.Conn{{a, b}, {b, a}} {
		done.Go(func() {
			h := sha256.New()
			source := io.LimitReader(rand.NewChaCha8([32]byte{byte(i)}), size)
			if _, err := io.Copy(io.MultiWriter(way[0], h), source); err == nil {
				sent[i] = h.Sum(nil)
			}
		})
		done.Go(func() {
			h := sha256.New()
			if n, _ := io.CopyN(h, way[1], size); n == size {
				received[i] = h.Sum(nil)
			}
		})
	}
	done.Wait()
	for i := range sent {
		require.NotEmpty(t, sent[i])
		require.Equal(t, sent[i], received[i])
	}
}

// BenchmarkTransfer is a TCP connection between two namespaces over two ports,
// with the stack's own work at both ends.
func BenchmarkTransfer(b *testing.B) {
	for _, off := range []bool{false, true} {
		b.Run(fmt.Sprintf("offload=%v", !off), func(b *testing.B) { benchmarkTransfer(b, off) })
	}
}

func benchmarkTransfer(b *testing.B, noOffload bool) {
	c := newCable(b, [2]bool{noOffload, noOffload})
	client, server := c.connect(b, "10.9.0.2")
	block := make([]byte, 256<<10)
	var done sync.WaitGroup
	b.SetBytes(int64(len(block)))
	b.ReportAllocs()
	b.ResetTimer()
	done.Go(func() { _, _ = io.CopyN(io.Discard, server, int64(b.N)*int64(len(block))) })
	for range b.N {
		if _, err := client.Write(block); err != nil {
			b.Fatal(err)
		}
	}
	done.Wait()
}
