package main

import (
	"context"
	"net/netip"
	"strconv"

	"github.com/iotenablers/enablers/internal/netlab"
)

// multipath has the kernels of the hosts use all links for connections of
// Multipath TCP: the first, and the others as its backups.
func multipath(ctx context.Context, n *network) (netip.Addr, error) {
	for _, side := range []netlab.Side{netlab.Client, netlab.Server} {
		if _, err := n.run(ctx, side, "ip", "mptcp", "limits", "set", "subflow", "8", "add_addr_accepted", "8"); err != nil {
			return netip.Addr{}, err
		}
		for i := 1; i < n.links; i++ {
			// The server announces its addresses, and the client connects from its
			// own to them.
			flags := []string{"signal"}
			if side == netlab.Client {
				flags = []string{"subflow", "backup"}
			}
			args := append([]string{"mptcp", "endpoint", "add", address(side, i).String(), "dev", links[i].name, "id",
				strconv.Itoa(i + 1)}, flags...)
			if _, err := n.run(ctx, side, "ip", args...); err != nil {
				return netip.Addr{}, err
			}
		}
	}
	return address(netlab.Server, 0), nil
}
