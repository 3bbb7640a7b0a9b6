package plugin

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/gateway"
)

// IPRestriction is the kind "ip-restriction": it lets requests of some addresses
// pass only. What a client says of its address in X-Forwarded-For counts if a
// trusted proxy has sent it; see [gateway.Options.TrustedProxies].
//
//	allow    addresses and ranges (CIDR), IPv4 and IPv6; empty means all
//	deny     likewise; goes before allow
//	status   403 by default
//	message  "IP address not allowed" by default
func IPRestriction() gateway.Kind {
	return configured(gateway.Kind{
		Name:     "ip-restriction",
		Summary:  "only some addresses may call",
		Priority: 990,
	}, nil, compileIPRestriction)
}

type ipRestriction struct {
	Allow   []string `json:"allow" about:"Addresses and ranges such as 192.0.2.0/24; empty means all"`
	Deny    []string `json:"deny" about:"Addresses and ranges that may not pass; goes before allow"`
	Status  int      `json:"status" schema:"between=400..599" about:"Status of refusals; 403 by default"`
	Message string   `json:"message" about:"Message of refusals"`

	allow, deny []netip.Prefix
}

func compileIPRestriction(c *ipRestriction, _ gateway.Setup) (_ gateway.Plugin, err error) {
	if c.Status == 0 {
		c.Status = http.StatusForbidden
	}
	if c.Message == "" {
		c.Message = "IP address not allowed"
	}
	switch {
	case c.Status < 400 || c.Status > 599:
		return gateway.Plugin{}, fmt.Errorf("config.status: %d is not between 400 and 599", c.Status)
	case len(c.Allow)+len(c.Deny) == 0:
		return gateway.Plugin{}, errors.New("config.allow: allow or deny is required")
	}
	if c.allow, err = ranges(c.Allow); err != nil {
		return gateway.Plugin{}, fmt.Errorf("config.allow: %w", err)
	}
	if c.deny, err = ranges(c.Deny); err != nil {
		return gateway.Plugin{}, fmt.Errorf("config.deny: %w", err)
	}
	return gateway.Plugin{Access: c.access}, nil
}

// ranges reads addresses and ranges. IPv4 ones that are written as IPv6 become what
// they are, as the addresses of clients are compared in that form.
func ranges(texts []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range texts {
		if !strings.Contains(text, "/") {
			address, err := netip.ParseAddr(text)
			if err != nil || address.Zone() != "" {
				return nil, fmt.Errorf("%q is neither an address nor a range", text)
			}
			address = address.Unmap()
			all = append(all, netip.PrefixFrom(address, address.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an address nor a range", text)
		}
		if prefix.Addr().Is4In6() {
			if prefix.Bits() < 96 {
				return nil, fmt.Errorf("%q has addresses of IPv4 and of IPv6: write two ranges", text)
			}
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

func (c *ipRestriction) access(x *gateway.Exchange) *gateway.Answer {
	address := x.ClientIP().Unmap().WithZone("")
	in := func(p netip.Prefix) bool { return p.Contains(address) }
	if !address.IsValid() || slices.ContainsFunc(c.deny, in) || (len(c.allow) > 0 && !slices.ContainsFunc(c.allow, in)) {
		return gateway.Refuse(c.Status, c.Message)
	}
	return nil
}
