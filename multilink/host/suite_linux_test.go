package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
	"github.com/iotenablers/enablers/multilink/linktest"
)

func TestHost_passesTheSuite(t *testing.T) {
	n := newNetwork(t)
	n.run("ip link add wlan0 type veth peer name far", "ip link set wlan0 up", "ip link set far up")
	require.Eventually(t, func() bool { return strings.Contains(n.run("ip link show wlan0"), "state UP") },
		patience, time.Millisecond)
	linktest.RunHost(t, linktest.HostHarness{
		Host: func() (multilink.Host, error) {
			return host.Open(t.Context(), &host.Options{Namespace: n.path,
				Underlay: func(context.Context, multilink.UnderlayConfig) (multilink.Underlay, error) {
					return nil, multilink.ErrUnsupported
				}})
		},
		Link: "wlan0",
		Carrier: func(_ multilink.Host, up bool) error {
			_, err := n.try(map[bool]string{true: "ip link set far up", false: "ip link set far down"}[up])
			return err
		},
	})
}

func TestPort_passesTheSuite(t *testing.T) {
	for name, off := range map[string]bool{"offload": false, "no offload": true} {
		t.Run(name, func(t *testing.T) {
			h := newNetwork(t).host(host.Options{NoOffload: off})
			// The bridge is kept by a port of its own.
			_, err := h.Port(t.Context(), multilink.PortConfig{Name: "keeper", Bridge: "br0"})
			require.NoError(t, err)
			linktest.RunFramePort(t, linktest.PortHarness{Port: func() (port, far multilink.FramePort, err error) {
				if port, err = h.Port(t.Context(), multilink.PortConfig{Name: "ml0", Bridge: "br0"}); err != nil {
					return nil, nil, err
				}
				far, err = h.Port(t.Context(), multilink.PortConfig{Name: "ml1", Bridge: "br0"})
				return port, far, err
			}})
		})
	}
}
