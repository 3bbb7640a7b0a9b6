package main

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/iotenablers/enablers/internal/netlab"
)

// fastdPort is where both sides listen.
const fastdPort = 10000

// fastd starts two fastd that know each other's keys. The client knows the
// server's address on each link.
func fastd(ctx context.Context, n *network) (netip.Addr, error) {
	var secrets, keys [2]string
	for side := range secrets {
		text, err := n.run(ctx, netlab.Side(side), "fastd", "--machine-readable", "--generate-key")
		if err != nil {
			return netip.Addr{}, err
		}
		secrets[side] = strings.TrimSpace(string(text))
		only, err := n.file(netlab.Side(side), "secret.conf", fmt.Sprintf("secret %q;\n", secrets[side]))
		if err != nil {
			return netip.Addr{}, err
		}
		if text, err = n.run(ctx, netlab.Side(side), "fastd", "--machine-readable", "--show-key", "--config", only); err != nil {
			return netip.Addr{}, err
		}
		keys[side] = strings.TrimSpace(string(text))
	}
	for _, side := range []netlab.Side{netlab.Server, netlab.Client} {
		var remotes strings.Builder
		for i := range n.links {
			if side == netlab.Client {
				fmt.Fprintf(&remotes, " remote %s port %d;", address(netlab.Server, i), fastdPort)
			}
		}
		config, err := n.file(side, "fastd.conf", fmt.Sprintf("interface %q;\nmode tap;\nmtu %d;\nmethod "+
			"\"salsa2012+umac\";\nbind any port %d;\nsecret %q;\nlog level info;\npeer \"other\" { key %q;%s }\n",
			tap, mtu, fastdPort, secrets[side], keys[1-side], remotes.String()))
		if err != nil {
			return netip.Addr{}, err
		}
		if _, err := n.start(ctx, side, nil, "fastd", "--config", config); err != nil {
			return netip.Addr{}, err
		}
	}
	return tunnelled[netlab.Server].Addr(), n.configure(ctx)
}
