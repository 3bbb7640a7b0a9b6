package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"
)

// attach makes a client connect to the server that provisioned it, in place of the one
// that it was attached to.
func (n *Node) attach(ctx context.Context, p provision) (*desired, error) {
	if err := n.config.only(Client); err != nil {
		return nil, err
	}
	if _, err := p.check(n.now.Load().head.key); err != nil {
		return nil, err
	}
	resolved, err := resolver(n.config.Resolve).addresses(ctx, p.Links, nil)
	var named *fault
	if errors.As(err, &named) {
		return nil, err
	}
	next, err := n.change(ctx, func(s *desired) (string, error) {
		s.head.Attachment = &attachment{provision: p, Resolved: resolved}
		return headKey, nil
	})
	if err == nil {
		n.recordChange("config", "", serverName, "attached as "+p.Name)
	}
	return next, err
}

// detach removes the server of a client and its keys.
func (n *Node) detach(ctx context.Context) error {
	if err := n.config.only(Client); err != nil {
		return err
	}
	_, err := n.change(ctx, func(s *desired) (string, error) {
		if s.head.Attachment == nil {
			return "", absent("", "this client is not attached to a server")
		}
		s.head.Attachment = nil
		return headKey, nil
	})
	if err == nil {
		n.recordChange("config", "", serverName, "detached")
	}
	return err
}

// resolveTime is how long the name service may take for all endpoints.
const resolveTime = 5 * time.Second

// resolver finds the addresses of a host name.
type resolver func(ctx context.Context, host string) ([]netip.Addr, error)

// addresses finds the addresses of the endpoints by link. The error names the first that
// is not found; the others are in the result all the same. An address that a link has
// already and that its host name still has is kept: names with several give them in
// another order each time.
func (r resolver) addresses(
	ctx context.Context, links []provisionLink, before map[string]netip.AddrPort,
) (map[string]netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	found := map[string]netip.AddrPort{}
	var first error
	for i, link := range links {
		host, port, err := splitEndpoint(link.Endpoint)
		if err != nil {
			return nil, err
		}
		address, err := netip.ParseAddr(host)
		if err != nil {
			address, err = r.address(ctx, host, before[link.Name].Addr())
		}
		if err != nil {
			if first == nil {
				first = wrong(fmt.Sprintf("links[%d].endpoint", i), "find the address of %q: %v", host, err)
			}
			continue
		}
		found[link.Name] = netip.AddrPortFrom(address.Unmap(), port)
	}
	return found, first
}

func (r resolver) address(ctx context.Context, host string, before netip.Addr) (netip.Addr, error) {
	all, err := r(ctx, host)
	if err != nil {
		return netip.Addr{}, err
	}
	var first netip.Addr
	for _, address := range all {
		address = address.Unmap()
		if address == before && before.IsValid() {
			return before, nil
		}
		if !first.IsValid() && !address.IsUnspecified() && !address.IsMulticast() {
			first = address
		}
	}
	if !first.IsValid() {
		return first, errors.New("it has none")
	}
	return first, nil
}

// resolveAgain follows host names whose addresses have changed. A name that is not found
// keeps its last address.
func (n *Node) resolveAgain(ctx context.Context) {
	before := n.now.Load().head.Attachment
	if before == nil {
		return
	}
	found, _ := resolver(n.config.Resolve).addresses(ctx, before.Links, before.Resolved)
	_, err := n.change(ctx, func(s *desired) (string, error) {
		if s.head.Attachment != before {
			return "", errUnchanged // another request attached meanwhile
		}
		resolved := maps.Clone(before.Resolved)
		if resolved == nil {
			resolved = map[string]netip.AddrPort{}
		}
		maps.Copy(resolved, found)
		next, changed := s.withResolved(resolved)
		if !changed {
			return "", errUnchanged
		}
		*s = *next
		return headKey, nil
	})
	if err != nil && ctx.Err() == nil {
		n.logger.Warn("addresses of the server could not be brought up to date", "error", err)
	}
}
