package main

import (
	"fmt"
	"net/netip"
	"strings"

	hosting "github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/internal/server"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/host"
	"github.com/iotenablers/enablers/multilink/node"
)

const about = `multilink bonds several radio links into one layer-2 network, so that the loss
of a link passes unnoticed. An instance is a server, which provisions clients,
or a client, which attaches to a server. Both are configured over REST or
on their page.`

// settings are the values of flags, environment and file.
type settings struct {
	*hosting.Flags
	web              hosting.Listener
	node             node.Config
	machine          host.Options
	data             string
	isolate          bool
	plane            string
	token, tokenFile string
	fresh            string // the file of a token that this start has generated
	openMetrics      bool
	demo             bool
}

// The planes.
const (
	planeEngine = "engine"
	planeKernel = "kernel"
)

// readSettings reads and checks the settings. They are returned for -h in any case.
func readSettings(args []string) (*settings, error) {
	f := hosting.NewFlags("multilink", "MULTILINK", about)
	s := &settings{Flags: f, web: hosting.Listener{Flag: "listen"}}
	port := &s.node.Port
	f.StringVar((*string)(&s.node.Role), "role", "", "`server` or client")
	f.BoolVar(&s.demo, "demo", false,
		"show failovers between two instances on this machine until interrupted: as root in network namespaces, otherwise in memory")
	f.StringVar(&s.web.Address, "listen", "127.0.0.1:3333", "`HOST:PORT` of the REST interface and the page; port 0 takes any that is free")
	f.StringVar(&s.data, "data", "./data/multilink", "`folder` where everything is stored, private keys included")
	f.StringVar(&port.Name, "tap", "multilink0", "`name` of the device that applications talk through, up to 15 characters")
	address := f.String("address", "",
		"`addresses` of a server on the bonded network with the lengths of their prefixes, separated by commas, "+
			"such as 10.9.0.1/24; clients get theirs from these networks")
	f.StringVar(&port.Bridge, "bridge", "",
		"`name` of a bridge that the device joins, and that has the addresses; it is created if it does not exist")
	members := f.String("bridge-members", "", "`interfaces` to join to the bridge, such as a LAN's, separated by commas")
	routes := f.String("routes", "",
		"`prefixes` that are reached over the bonded network, separated by commas, each as PREFIX or PREFIX=GATEWAY")
	f.IntVar(&port.MTU, "mtu", 0, "`bytes` of the largest packet on the device; 0 means 1500, or what fits with -plane kernel")
	interfaces := f.String("interfaces", "",
		"`patterns` of the interfaces that may be touched, separated by commas, such as wlan*,wwan0; empty means any but the loopback")
	allow := f.String("allow", "", "`operations` on the machine that are allowed, separated by commas: "+operations()+"; empty means all")
	f.BoolVar(&s.isolate, "isolate", false, "keep the clients of a server from reaching each other, and from using addresses of each other")
	f.StringVar(&s.plane, "plane", planeEngine,
		"`engine` moves frames in this process; kernel has Linux's own bonding and WireGuard do it, without replay, copies and classes")
	f.StringVar(&s.token, "token", "",
		"`token` that requests have to show; better given by the environment, since others can see flags. Empty means that of -token-file")
	f.StringVar(&s.tokenFile, "token-file", "",
		"`file` that holds the token; it is created if it does not exist. Empty means the file token of the data "+
			"folder, unless -token or another way of -access is given")
	clientCA := f.String("client-ca", "",
		"another name of -tls-client-ca: PEM `file` of the authorities whose client certificates stand for the token")
	f.BoolVar(&s.openMetrics, "open-metrics", false, "answer /metrics without the token")
	f.IntVar(&s.node.MaxClients, "max-clients", node.DefaultClients, "`number` of clients that a server has at most")
	if err := f.Parse(args); err != nil || s.demo {
		return s, err // -demo takes nothing else but -listen
	}
	return s, f.Validate(func() {
		port.Members, s.machine.Interfaces = server.Names(*members), server.Names(*interfaces)
		for _, one := range server.Names(*allow) {
			s.machine.Allow = append(s.machine.Allow, host.Operation(one))
		}
		s.check(*address, *routes, *clientCA)
	})
}

func operations() string {
	var names []string
	for _, one := range host.Operations() {
		names = append(names, string(one))
	}
	return strings.Join(names, ", ")
}

// check reads what is not read yet and refuses what cannot work.
func (s *settings) check(addresses, routes, clientCA string) {
	port, role := &s.node.Port, s.node.Role
	if role != node.Server && role != node.Client {
		s.Wrong("role", "expected server or client, got %q", role)
	}
	for _, text := range server.Names(addresses) {
		address, err := netip.ParsePrefix(text)
		if err != nil {
			s.Wrong("address", "expected an address and the length of its network's prefix, such as 10.9.0.1/24, got %q", text)
		}
		port.Addresses = append(port.Addresses, address)
	}
	if role == node.Client && len(port.Addresses) > 0 {
		s.Wrong("address", "a client gets its addresses from the server")
	}
	for _, text := range server.Names(routes) {
		route, err := parseRoute(text)
		if err != nil {
			s.Wrong("routes", "%v", err)
		}
		port.Routes = append(port.Routes, route)
	}
	if port.Bridge == "" && len(port.Members) > 0 {
		s.Wrong("bridge-members", "requires -bridge")
	}
	if s.plane != planeEngine && s.plane != planeKernel {
		s.Wrong("plane", "expected engine or kernel, got %q", s.plane)
	}
	if s.plane == planeKernel && (len(s.machine.Interfaces) > 0 || len(s.machine.Allow) > 0 || s.isolate) {
		s.Wrong("plane", "the kernel's takes no -interfaces, -allow and -isolate")
	}
	if s.token != "" && s.tokenFile != "" {
		s.Wrong("token-file", "the token is given already")
	}
	if clientCA != "" {
		if err := s.Door.SetClientCA(clientCA); err != nil {
			s.Wrong("client-ca", "%v", err)
		}
	}
	if s.Door.IsOpen() && (s.token != "" || s.tokenFile != "") {
		s.Wrong("access", "none cannot be given together with -token or -token-file")
	}
}

// parseRoute reads PREFIX or PREFIX=GATEWAY.
func parseRoute(text string) (multilink.Route, error) {
	prefix, gateway, given := strings.Cut(text, "=")
	var route multilink.Route
	var err error
	if route.Destination, err = netip.ParsePrefix(prefix); err != nil {
		return route, fmt.Errorf("expected a prefix such as 192.168.7.0/24, got %q", prefix)
	}
	if given {
		if route.Gateway, err = netip.ParseAddr(gateway); err != nil {
			return route, fmt.Errorf("expected the address of a gateway, got %q", gateway)
		}
	}
	return route, nil
}
