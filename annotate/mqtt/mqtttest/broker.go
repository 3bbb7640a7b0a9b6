// Package mqtttest starts MQTT brokers for tests: one inside the process, and
// mosquitto where it is installed. It also has a network proxy that can be
// cut. Everything listens on free loopback ports and ends with the test.
package mqtttest

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"strconv"
	"testing"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/mqtt"
	"github.com/iotenablers/enablers/annotate/mqtt/embedded"
	"github.com/iotenablers/enablers/internal/peertest"
)

// Address is where a broker listens.
type Address struct {
	Host string
	Port int
}

// Topic returns a topic of the broker at the address.
func (a Address) Topic(name, clientID string) annotate.Topic {
	return annotate.Topic{
		Name: name, Broker: mqtt.Type,
		Settings: mqtt.Settings{Protocol: "tcp", Host: a.Host, Port: a.Port, ClientID: clientID},
	}
}

// Change changes the settings of a topic.
func Change(topic *annotate.Topic, change func(*mqtt.Settings)) {
	s := topic.Settings.(mqtt.Settings)
	change(&s)
	topic.Settings = s
}

// String returns host:port.
func (a Address) String() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// Reserve returns an address for a broker that listens, ends and listens there again: on Linux the
// port is given to nothing else until the test ends.
func Reserve(tb testing.TB) Address {
	tb.Helper()
	at := peertest.ReservedAddress(tb)
	return Address{Host: at.Addr().String(), Port: int(at.Port())}
}

func newAddress(listener net.Listener) Address {
	addr := listener.Addr().(*net.TCPAddr)
	return Address{Host: addr.IP.String(), Port: addr.Port}
}

// Embedded starts a broker inside the process, of package embedded. It keeps
// sessions as long as it lives.
func Embedded(tb testing.TB) Address {
	tb.Helper()
	return serve(tb, func(l net.Listener) net.Listener { return l })
}

// EmbeddedTLS is Embedded over TLS. It returns the pool that trusts the broker's
// certificate as well.
func EmbeddedTLS(tb testing.TB) (Address, *x509.CertPool) {
	tb.Helper()
	pair, pool, err := peertest.NewCertificate()
	if err != nil {
		tb.Fatalf("create a certificate: %v", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	return serve(tb, func(l net.Listener) net.Listener { return tls.NewListener(l, config) }), pool
}

// serve starts a broker on a listener.
func serve(tb testing.TB, wrap func(net.Listener) net.Listener) Address {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen for the embedded broker: %v", err)
	}
	server, err := embedded.New(wrap(listener), nil)
	if err == nil {
		err = server.Serve()
	}
	if err != nil {
		tb.Fatalf("start the embedded broker: %v", err)
	}
	tb.Cleanup(func() { _ = server.Close() })
	return newAddress(listener)
}
