package annotation

import (
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/internal/outbound"
	"github.com/iotenablers/enablers/internal/server"
)

const (
	brokersFlag  = "broker-hosts"
	brokersUsage = "the `brokers` that channels may use, separated by commas: HOST, HOST:PORT, *.DOMAIN or a range of addresses " +
		"such as 10.1.0.0/16, brokers that a Kafka cluster names included; empty means every host and port that this " +
		"server reaches"
)

// Brokers is the value of the flag broker-hosts: the brokers that channels may use. Create one with
// [DeclareBrokers].
type Brokers struct {
	entries  []string
	variable func(name string) string
}

// DeclareBrokers declares the flag.
func DeclareBrokers(f *server.Flags) *Brokers {
	b := &Brokers{variable: f.Variable}
	f.Var(b, brokersFlag, brokersUsage)
	return b
}

// String implements flag.Value.
func (b *Brokers) String() string {
	if b == nil {
		return ""
	}
	return strings.Join(b.entries, ",")
}

// Set implements flag.Value.
func (b *Brokers) Set(text string) error {
	entries := server.Names(text)
	if len(entries) > 0 {
		if _, err := annotate.NewBrokerHosts(entries, ""); err != nil {
			return err
		}
	}
	b.entries = entries
	return nil
}

// Address is a broker.
type Address struct {
	Host string
	Port int
}

// Hosts returns the list, together with brokers that the operator has named by other
// settings. It is nil if the flag is not set.
func (b *Brokers) Hosts(also ...Address) (*annotate.BrokerHosts, error) {
	if len(b.entries) == 0 {
		return nil, nil
	}
	entries := append([]string(nil), b.entries...)
	for _, a := range also {
		entries = append(entries, net.JoinHostPort(outbound.Bare(a.Host), strconv.Itoa(a.Port)))
	}
	return annotate.NewBrokerHosts(entries, fmt.Sprintf("-%s (%s)", brokersFlag, b.variable(brokersFlag)))
}

// WarnIfOpen logs one line when other machines can reach the listener, through which
// channels are made, and the flag is not set.
func (b *Brokers) WarnIfOpen(log *slog.Logger, listener net.Listener) {
	if len(b.entries) == 0 && !server.IsLoopback(listener) {
		log.Warn("channels may use any broker: clients can have this server connect to every host and port that it reaches",
			"address", listener.Addr().String(), "set", fmt.Sprintf("-%s (%s)", brokersFlag, b.variable(brokersFlag)))
	}
}
