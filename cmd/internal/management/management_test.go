package management

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/apimgmt"
)

func TestConfig_private_isForListenersOnLoopbackAlone(t *testing.T) {
	listen := func(address string) net.Listener {
		listener, err := net.Listen("tcp4", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		return listener
	}
	here, exposed := listen("127.0.0.1:0"), listen("0.0.0.0:0")
	kong := struct{ apimgmt.Gateway }{}
	for name, c := range map[string]struct {
		config Config
		want   bool
	}{
		"both on loopback":            {Config{Portal: here, Gateway: here, Admin: exposed}, true},
		"the portal exposed":          {Config{Portal: exposed, Gateway: here}, false},
		"the gateway exposed":         {Config{Portal: here, Gateway: exposed}, false},
		"a gateway elsewhere":         {Config{Portal: here, Elsewhere: kong}, true},
		"elsewhere, portal exposed":   {Config{Portal: exposed, Elsewhere: kong}, false},
		"exposed, and set":            {Config{Portal: exposed, Gateway: exposed, PrivateUpstreams: new(true)}, true},
		"on loopback, and set not to": {Config{Portal: here, Gateway: here, PrivateUpstreams: new(false)}, false},
	} {
		require.Equal(t, c.want, c.config.private() != nil, name)
	}
}
