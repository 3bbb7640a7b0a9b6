package management

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/cmd/internal/host"
)

func TestBase_private_isForListenersOnLoopbackAlone(t *testing.T) {
	listen := func(address string) *host.Listener {
		listener, err := net.Listen("tcp4", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = listener.Close() })
		return &host.Listener{Listener: listener}
	}
	here, exposed, absent := listen("127.0.0.1:0"), listen("0.0.0.0:0"), &host.Listener{Absent: true}
	for name, c := range map[string]struct {
		base base
		want bool
	}{
		"both on loopback":            {base{Portal: here, Gateway: here, Admin: exposed}, true},
		"the portal exposed":          {base{Portal: exposed, Gateway: here}, false},
		"the gateway exposed":         {base{Portal: here, Gateway: exposed}, false},
		"a gateway elsewhere":         {base{Portal: here, Gateway: absent}, true},
		"elsewhere, portal exposed":   {base{Portal: exposed, Gateway: absent}, false},
		"no portal":                   {base{Portal: absent, Gateway: here}, true},
		"no portal, gateway exposed":  {base{Portal: absent, Gateway: exposed}, false},
		"exposed, and set":            {base{Portal: exposed, Gateway: exposed, Config: Config{PrivateUpstreams: new(true)}}, true},
		"on loopback, and set not to": {base{Portal: here, Gateway: here, Config: Config{PrivateUpstreams: new(false)}}, false},
	} {
		require.Equal(t, c.want, c.base.private() != nil, name)
	}
}
