package annotate_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate"
)

func ExampleNewBrokerHosts() {
	hosts, err := annotate.NewBrokerHosts([]string{"mqtt.example.org", "10.1.0.0/16"}, "-broker-hosts")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hosts.Check("mqtt.example.org", 8883))
	fmt.Println(hosts.Check("127.0.0.1", 22))
	// Output:
	// <nil>
	// host: "127.0.0.1:22" is not a broker that channels may use; the operator of the service can add it to -broker-hosts
}

func TestNewBrokerHosts_namesTheWrongEntry(t *testing.T) {
	_, err := annotate.NewBrokerHosts([]string{"tcp://mqtt.example.org"}, "")
	require.ErrorContains(t, err, `list of brokers: "tcp://mqtt.example.org": `)
	_, err = annotate.NewBrokerHosts(nil, "")
	require.ErrorContains(t, err, "empty")
}

func TestBrokerHosts_Over_givesOneErrorWhateverIsThere(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	hosts, err := annotate.NewBrokerHosts([]string{"10.0.0.0/8"}, "")
	require.NoError(t, err)
	dial := hosts.Over(nil)
	for _, address := range []string{listener.Addr().String(), "127.0.0.1:1", "absent.invalid:1883", "[::1]:22"} {
		_, err := dial(t.Context(), "tcp", address)
		require.ErrorIs(t, err, annotate.ErrBrokerNotListed)
		require.EqualError(t, err, fmt.Sprintf(
			"%q is not a broker that channels may use; the operator of the service can add it to the list of brokers", address))
	}
}

func TestBrokerHosts_Over_passesOnTheErrorsOfBrokersOfTheList(t *testing.T) {
	refused := errors.New("connection refused")
	fail := func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	hosts, err := annotate.NewBrokerHosts([]string{"10.0.0.0/8"}, "")
	require.NoError(t, err)
	for _, list := range []*annotate.BrokerHosts{hosts, nil} {
		_, err = list.Over(fail)(t.Context(), "tcp", "10.0.0.1:1883")
		require.ErrorIs(t, err, refused)
		require.NoError(t, list.Check("[10.0.0.1]", 1883))
	}
	require.NoError(t, (*annotate.BrokerHosts)(nil).Check("127.0.0.1", 22))
}
