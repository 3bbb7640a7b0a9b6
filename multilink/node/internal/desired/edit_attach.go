package desired

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

// Attach makes a client connect to the server that provisioned it, in place of the one
// that it was attached to.
func Attach(p Provision) Edit {
	var resolved map[string]netip.AddrPort
	return Edit{
		prepare: func(ctx context.Context, s *Settings, at *Environment) error {
			if err := s.Only(RoleClient); err != nil {
				return err
			}
			if _, err := p.check(s.Head.key); err != nil {
				return err
			}
			var err error
			resolved, err = at.resolve(ctx, p.Links, nil)
			return err
		},
		apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
			s.Head.Attachment = &Attachment{Provision: p, Resolved: resolved}
			return Outcome{headKey, &Event{Type: "config", Peer: ServerName, Reason: "attached as " + p.Name}}, nil
		},
	}
}

// Detach removes the server of a client and its keys.
func Detach() Edit {
	return Edit{prepare: only(RoleClient), apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		if s.Head.Attachment == nil {
			return Outcome{}, NotAttached()
		}
		s.Head.Attachment = nil
		return Outcome{headKey, &Event{Type: "config", Peer: ServerName, Reason: "detached"}}, nil
	}}
}

// NotAttached returns the error of a client without a server.
func NotAttached() error { return fault.Absent("", "this client is not attached to a server") }

// Follow brings the addresses of the server up to date. A name that is not found keeps its
// last address.
func Follow() Edit {
	var before *Attachment
	var found map[string]netip.AddrPort
	return Edit{
		prepare: func(ctx context.Context, s *Settings, at *Environment) error {
			if before = s.Head.Attachment; before != nil {
				found, _ = at.resolve(ctx, before.Links, before.Resolved)
			}
			return nil
		},
		apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
			if before == nil || s.Head.Attachment != before {
				return Outcome{}, nil // another request attached meanwhile
			}
			resolved := maps.Clone(before.Resolved)
			if resolved == nil {
				resolved = map[string]netip.AddrPort{}
			}
			maps.Copy(resolved, found)
			if maps.Equal(before.Resolved, resolved) {
				return Outcome{}, nil
			}
			next := *before
			next.Resolved = resolved
			s.Head.Attachment = &next
			return Outcome{Key: headKey}, nil
		},
	}
}

// resolveTime is how long the name service may take for all endpoints.
const resolveTime = 5 * time.Second

// resolve finds the addresses of the endpoints by link. The error names the first that
// is not found; the others are in the result all the same. An address that a link has
// already and that its host name still has is kept: names with several give them in
// another order each time.
func (e *Environment) resolve(
	ctx context.Context, links []ProvisionLink, before map[string]netip.AddrPort,
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
			address, err = e.address(ctx, host, before[link.Name].Addr())
		}
		if err != nil {
			if first == nil {
				first = fault.Wrong(fmt.Sprintf("links[%d].endpoint", i), "find the address of %q: %v", host, err)
			}
			continue
		}
		found[link.Name] = netip.AddrPortFrom(address.Unmap(), port)
	}
	return found, first
}

func (e *Environment) address(ctx context.Context, host string, before netip.Addr) (netip.Addr, error) {
	all, err := e.Resolve(ctx, host)
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
