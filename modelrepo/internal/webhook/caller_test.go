package webhook

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/internal/outbound"
)

func TestRequirePublic_refusesAddressesOfThisMachineAndItsNetwork(t *testing.T) {
	for _, address := range []string{
		"127.0.0.1:80", "[::1]:80", "10.1.2.3:80", "169.254.169.254:80", "192.168.0.1:443", "100.64.0.1:80", "0.0.0.0:80",
		"[::]:80", "[::ffff:10.0.0.1]:80", "[64:ff9b::7f00:1]:80", "[fe80::1%eth0]:80", "[fd00::1]:80", "224.0.0.1:80",
		"255.255.255.255:80", "nonsense",
	} {
		require.Error(t, outbound.Policy{}.Control("tcp", address, nil), address)
	}
	for _, address := range []string{"8.8.8.8:443", "[2606:4700::1111]:443"} {
		require.NoError(t, outbound.Policy{}.Control("tcp", address, nil), address)
	}
}
