//go:build linux

package vm_test

import (
	"regexp"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/test/multilink/vm/vmtest"
)

func TestRadios_joinGatewayAndServer(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, vmtest.Boot(t, machine()))

	t.Run("WiFi is a station at an access point, with encryption", func(t *testing.T) {
		require.Contains(t, n.gateway.Run(t, "iw", "dev", "wifi", "link"), "SSID: enablers")
		require.Contains(t, n.server.Run(t, "iw", "dev", "wifi", "station", "dump"), "authorized:\tyes")
	})
	t.Run("the mesh has a peer", func(t *testing.T) {
		require.Contains(t, n.gateway.Run(t, "iw", "dev", "mesh", "station", "dump"), "mesh plink:\tESTAB")
	})
	t.Run("5G is slow", func(t *testing.T) {
		said := n.gateway.Run(t, "busybox", "ping", "-c", "5", "-i", "0.2", "-W", "5", fiveServer)
		found := regexp.MustCompile(`max = [0-9.]+/[0-9.]+/([0-9.]+) ms`).FindStringSubmatch(said)
		require.NotNil(t, found, said)
		slowest, err := strconv.ParseFloat(found[1], 64)
		require.NoError(t, err)
		require.Greater(t, slowest, 60.0, "twice 40 ms, less twice 8")
	})
	for device, address := range map[string]string{"wifi": wifiServer, "mesh": meshServer, "5g": fiveServer} {
		t.Run(device+" is cut in silence and restored", func(t *testing.T) {
			n.silence(t, device)
			require.Error(t, n.ping(address, 2))
			n.restore(t, device)
			n.awaitPing(t, address)
		})
	}
	t.Run("WiFi loses its access point and finds it again", func(t *testing.T) {
		n.accessPoint.Stop(t, syscall.SIGTERM)
		await(t, "the station to notice", func() bool {
			said, err := n.gateway.Try("iw", "dev", "wifi", "link")
			return err == nil && regexp.MustCompile(`Not connected`).MatchString(said)
		})
		require.Error(t, n.ping(wifiServer, 2))
		n.startAccessPoint(t)
		n.awaitPing(t, wifiServer)
	})
}
