// Package pair is two instances of multilink for demonstrations: a server, and a
// client that attaches to it, each with a plane of its own on a host of its own.
package pair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/page"
	"github.com/iotenablers/enablers/multilink/node/rest"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/storage"
)

// PortName is the device that the applications of both hosts use.
const PortName = "tap0"

// Addresses returns where the hosts are on the bonded network.
func Addresses() (server, client netip.Prefix) {
	return netip.MustParsePrefix("10.9.0.1/24"), netip.MustParsePrefix("10.9.0.2/24")
}

// Link is one of the links between the two.
type Link struct {
	Name string
	Kind settings.Kind
	// Endpoint is where the server listens on it, as HOST:PORT.
	Endpoint string
}

// Config is the configuration of a [Pair]. Hosts and token are required.
type Config struct {
	// Server and Client are the hosts. They are not closed.
	Server, Client multilink.Host
	// Links between them, the primary first.
	Links []Link
	// Probe is the interval of probes. Zero is multilink's default.
	Probe time.Duration
	// Token of both instances, which Connect shows to them.
	Token string
	// Authorize is as in rest.HandlerOptions, and has to accept Token. Nil means Token alone.
	Authorize func(r *http.Request, role string) error
	// HTTPClient calls the instances. Nil means one with a pool of its own.
	HTTPClient *http.Client
	// Hosts are as in rest.HandlerOptions.
	Hosts []string
	// Logger of both. Nil is silent.
	Logger *slog.Logger
}

// Instance is one of the two.
type Instance struct {
	Node *node.Node
	Bond *multilink.Bond
	// Handler serves its pages and its REST interface at the root of a host.
	Handler http.Handler
}

// Pair is two instances. They store nothing: each pair starts empty.
type Pair struct {
	Server, Client Instance
	config         Config
}

// Open creates the instances. It starts nothing. The caller closes it, once both nodes
// have ended.
func Open(ctx context.Context, config Config) (_ *Pair, err error) {
	p := &Pair{config: config}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := p.Server.open(ctx, node.Server, config.Server, config); err != nil {
		return nil, err
	}
	if err := p.Client.open(ctx, node.Client, config.Client, config); err != nil {
		return nil, err
	}
	return p, nil
}

func (i *Instance) open(ctx context.Context, role node.Role, host multilink.Host, config Config) (err error) {
	if i.Bond, err = multilink.New(multilink.Config{Host: host, Logger: config.Logger}); err != nil {
		return fmt.Errorf("open %s: %w", role, err)
	}
	port := multilink.PortConfig{Name: PortName}
	if role == node.Server {
		address, _ := Addresses()
		port.Addresses = append(port.Addresses, address)
	}
	if i.Node, err = node.Open(ctx, node.Config{
		Role: role, Plane: i.Bond, Documents: storage.NewMemoryDocuments(), Port: port, Interfaces: host.Links, Logger: config.Logger,
	}); err != nil {
		return fmt.Errorf("open %s: %w", role, err)
	}
	if i.Handler, err = page.NewHandler(i.Node, &page.HandlerOptions{Root: true, REST: rest.HandlerOptions{
		Token: config.Token, Authorize: config.Authorize, Hosts: config.Hosts, Logger: config.Logger,
	}}); err != nil {
		return fmt.Errorf("open %s: %w", role, err)
	}
	return nil
}

// Close ends the planes.
func (p *Pair) Close() error {
	var errs []error
	for _, i := range []*Instance{&p.Client, &p.Server} {
		if i.Bond != nil {
			errs = append(errs, i.Bond.Close())
		}
	}
	return errors.Join(errs...)
}
