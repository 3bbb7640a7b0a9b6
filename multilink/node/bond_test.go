package node_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/memory"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/nodetest"
	"github.com/iotenablers/enablers/storage"
)

// over runs an instance of the bond on a host of the network. Use it in a synctest bubble.
func over(t *testing.T, network *memory.Network, role node.Role, address string) (*nodetest.Instance, *memory.Host) {
	t.Helper()
	host, err := network.Host(netip.MustParseAddr(address))
	require.NoError(t, err)
	bond, err := multilink.New(multilink.Config{Host: host})
	require.NoError(t, err)
	t.Cleanup(func() { _ = bond.Close() })
	config := nodetest.NewConfig(role, nodetest.NewPlane(), storage.NewMemoryDocuments())
	config.Plane, config.Interfaces = bond, host.Links
	return nodetest.Start(t, config), host
}

// side sends and receives through a port.
type side struct {
	port  *memory.Port
	mac   byte
	heard atomic.Uint64 // frames of others
}

func plug(t *testing.T, host *memory.Host, mac byte) *side {
	t.Helper()
	port, err := host.Plug("tap0")
	require.NoError(t, err)
	s := &side{port: port, mac: mac}
	go func() {
		var batch multilink.Batch
		for port.Read(&batch) == nil {
			s.heard.Add(uint64(len(batch.Frames())))
			batch.Reset()
		}
	}()
	return s
}

// say sends a frame to another one.
func (s *side) say(to *side, n int) {
	frame := make([]byte, 64)
	copy(frame, []byte{2, 0, 0, 0, 0, to.mac, 2, 0, 0, 0, 0, s.mac, 0x88, 0xb5})
	binary.BigEndian.PutUint64(frame[14:], uint64(n))
	_ = s.port.Write([][]byte{frame}) // what the port does not take is lost, as on a wire
}

// reaches says frames until one arrives.
func (s *side) reaches(t *testing.T, to *side) {
	t.Helper()
	before, n := to.heard.Load(), 0
	require.Eventually(t, func() bool {
		n++
		s.say(to, n)
		return to.heard.Load() > before
	}, nodetest.Patience, 5*time.Millisecond)
}

// silent waits until all has arrived that was under way, and makes sure that nothing else does.
func (s *side) silent(t *testing.T, to *side) {
	t.Helper()
	time.Sleep(time.Second) // of the bubble's clock
	synctest.Wait()
	before := to.heard.Load()
	for n := range 100 {
		s.say(to, n)
		time.Sleep(10 * time.Millisecond)
	}
	synctest.Wait()
	require.Equal(t, before, to.heard.Load())
}

func TestNode_Run_connectsTwoInstancesAndRotatesKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memory.NewNetwork(1, "wlan0", "mesh0", "wwan0")
		defer func() { _ = network.Close() }()
		s, serverHost := over(t, network, node.Server, "192.0.2.1")
		var clients []*nodetest.Instance
		var hosts []*memory.Host
		for n := range 2 {
			c, host := over(t, network, node.Client, fmt.Sprintf("192.0.2.%d", n+2))
			clients, hosts = append(clients, c), append(hosts, host)
		}
		for at, name := range []string{"wlan0", "mesh0", "wwan0"} {
			// one port, on three interfaces
			s.Do(http.StatusCreated, "POST", "/interfaces/add", nodetest.Object{"name": name, "priority": at, "endpoint": "192.0.2.1:51820"})
			for _, c := range clients {
				c.Do(http.StatusCreated, "POST", "/interfaces/add", nodetest.Object{"name": name, "priority": at})
			}
		}
		var keys []nodetest.Object
		for _, c := range clients {
			made := s.Do(http.StatusCreated, "POST", "/tunnel/client/add", nodetest.Object{})
			keys = append(keys, nodetest.Object{"public_key": made["public_key"]})
			made["server"] = "http://192.0.2.1:3333"
			c.Do(http.StatusOK, "POST", "/tunnel/attach", made)
		}
		server, first, second := plug(t, serverHost, 1), plug(t, hosts[0], 2), plug(t, hosts[1], 3)
		first.reaches(t, server)
		server.reaches(t, first)
		second.reaches(t, server)

		active := func() string {
			for _, link := range clients[0].List("/interfaces") {
				if link["active"] == true {
					return link["name"].(string)
				}
			}
			return ""
		}
		require.Eventually(t, func() bool { return active() == "wlan0" }, nodetest.Patience, 10*time.Millisecond)
		status, text := clients[0].Ask("PUT", "/interfaces", `{"order":["wwan0","wlan0","mesh0"]}`)
		require.Equal(t, http.StatusOK, status, text)
		require.Eventually(t, func() bool { return active() == "wwan0" }, nodetest.Patience, 10*time.Millisecond)
		first.reaches(t, server)

		s.Do(http.StatusOK, "PUT", "/tunnel/client/disable", keys[0])
		server.silent(t, first)
		first.silent(t, server)
		second.reaches(t, server)
		s.Do(http.StatusOK, "PUT", "/tunnel/client/enable", keys[0])
		first.reaches(t, server)
		s.Do(http.StatusNoContent, "DELETE", "/tunnel/client/delete", keys[0])
		first.silent(t, server)
		second.reaches(t, server)

		require.Equal(t, true, s.List("/tunnel/client/")[0]["connected"])
		require.NotEmpty(t, s.List("/tunnel/client/")[0]["active_link"])
	})
}
