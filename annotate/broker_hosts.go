package annotate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/iotenablers/enablers/internal/outbound"
)

// ErrBrokerNotListed is the error of a connection to a broker that is not on the list of
// [BrokerHosts].
var ErrBrokerNotListed = errors.New("annotate: broker is not on the list")

// BrokerHosts lists the brokers that channels may use. A channel reads and publishes where
// its settings name, so without a list a client that may create channels reaches every
// host and port that the service reaches. The drivers of packages mqtt and kafka take a
// list as an option, check the settings of each channel against it, and again every
// connection, those to brokers that a cluster names itself among them. A nil list allows
// every broker.
//
// Create one with [NewBrokerHosts]. It is safe for concurrent use.
type BrokerHosts struct {
	hosts   *outbound.Hosts
	setting string
}

// NewBrokerHosts reads a list whose entries are HOST, HOST:PORT, *.DOMAIN for all names
// below a domain, *.DOMAIN:PORT, or a range of addresses such as 10.1.0.0/16. A host is a
// name or an address. A name that is not on the list is allowed if it resolves to an
// address that is, and only such addresses are connected to. The setting is what errors
// name as the place to change the list; empty means "the list of brokers". The list must
// not be empty.
func NewBrokerHosts(entries []string, setting string) (*BrokerHosts, error) {
	hosts, err := outbound.ParseHosts(entries)
	if err != nil {
		return nil, fmt.Errorf("annotate: list of brokers: %w", err)
	}
	return &BrokerHosts{hosts, cmp.Or(setting, "the list of brokers")}, nil
}

// Check returns a [*FieldError] about member "host" for a broker that is not on the list. It
// resolves no name: whether a name has an address in a range of the list is decided when a
// connection is opened.
func (h *BrokerHosts) Check(host string, port int) error {
	if h == nil || h.hosts.Check(host, port) == nil {
		return nil
	}
	return &FieldError{Field: "host", Reason: h.refuse(net.JoinHostPort(outbound.Bare(host), strconv.Itoa(port))).Error()}
}

// Over returns a function that connects to brokers of the list only, with dial. The error for any other
// broker wraps ErrBrokerNotListed and is the same whatever listens there. A nil dial means that of a zero
// [net.Dialer].
func (h *BrokerHosts) Over(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) func(ctx context.Context, network, address string) (net.Conn, error) {
	if h == nil {
		return (*outbound.Hosts)(nil).Over(dial)
	}
	guarded := h.hosts.Over(dial)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := guarded(ctx, network, address)
		if errors.Is(err, outbound.ErrRefused) {
			return nil, h.refuse(address)
		}
		return conn, err
	}
}

func (h *BrokerHosts) refuse(address string) error { return &refusedBroker{address, h.setting} }

// refusedBroker reports a broker that is not on the list.
type refusedBroker struct{ address, setting string }

// Error names the broker and the setting.
func (e *refusedBroker) Error() string {
	return fmt.Sprintf("%q is not a broker that channels may use; the operator of the service can add it to %s", e.address, e.setting)
}

// Unwrap returns ErrBrokerNotListed.
func (*refusedBroker) Unwrap() error { return ErrBrokerNotListed }
