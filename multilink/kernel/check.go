//go:build linux

package kernel

import (
	"fmt"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// check returns an error for the first setting of a state that is invalid, or that
// the kernel's bonding does not support.
func check(s multilink.State) error {
	if err := checkBond(s); err != nil {
		return err
	}
	if s.PrivateKey.IsZero() {
		return fmt.Errorf("private key: none is given: %w", multilink.ErrInvalid)
	}
	if name := s.Port.Name; name == "" || len(name) > 15 || !settings.ValidName(name) {
		return fmt.Errorf("port %q: name: must be 1 to 15 letters, digits, '.', '-' or '_': %w", name, multilink.ErrInvalid)
	}
	if name := s.Port.Bridge; len(name) > 15 || (name != "" && !settings.ValidName(name)) {
		return fmt.Errorf("port %q: bridge: must be 1 to 15 letters, digits, '.', '-' or '_', got %q: %w", s.Port.Name,
			name, multilink.ErrInvalid)
	}
	links, err := checkLinks(s.Links)
	if err != nil {
		return err
	}
	return checkPeers(s.Peers, links)
}

// checkBond returns an error for settings that only multilink.Bond supports.
func checkBond(s multilink.State) error {
	if err := s.Bond.Check(); err != nil {
		return err
	}
	refuse := func(option, why string) error {
		return fmt.Errorf("%s: %s: %w", option, why, multilink.ErrUnsupported)
	}
	switch {
	case s.Bond.Policy != "" && s.Bond.Policy != settings.ActiveBackup:
		return refuse("bond: policy", fmt.Sprintf("the kernel's bonding does active-backup here, got %q", s.Bond.Policy))
	case !s.Bond.NoReplay && len(s.Peers) > 0: // it is the default, and harmless until then
		return refuse("bond: replay", "the kernel's bonding keeps nothing to send again")
	case len(s.Classes) > 0:
		return refuse(fmt.Sprintf("class %q", s.Classes[0].Name), "the kernel's bonding has no classes")
	}
	return nil
}

func checkLinks(links []settings.Link) (map[string]bool, error) {
	names, priorities := map[string]bool{}, map[int]string{}
	for _, l := range links {
		if err := l.Check(); err != nil {
			return nil, err
		}
		if names[l.Name] {
			return nil, fmt.Errorf("link %q: name: %w", l.Name, multilink.ErrDuplicate)
		}
		if other, taken := priorities[l.Priority]; taken {
			return nil, fmt.Errorf("link %q: priority: %d is that of %q: %w", l.Name, l.Priority, other, multilink.ErrDuplicate)
		}
		names[l.Name], priorities[l.Priority] = true, l.Name
		for option, set := range map[string]bool{
			"quota": l.Quota > 0, "rate": l.Rate > 0, "max_loss": l.MaxLoss > 0, "max_rtt": l.MaxRTT > 0,
		} {
			if set {
				return nil, fmt.Errorf("link %q: %s: the kernel's bonding has no such limit: %w", l.Name, option, multilink.ErrUnsupported)
			}
		}
	}
	return names, nil
}

func checkPeers(peers []multilink.PeerConfig, links map[string]bool) error {
	names, keys := map[string]bool{}, map[multilink.Key]bool{}
	for _, p := range peers {
		switch {
		case p.PublicKey.IsZero():
			return fmt.Errorf("peer %q: public key: none is given: %w", p.Name, multilink.ErrInvalid)
		case names[p.Name]:
			return fmt.Errorf("peer %q: name: %w", p.Name, multilink.ErrDuplicate)
		case keys[p.PublicKey]:
			return fmt.Errorf("peer %q: public key: %w", p.Name, multilink.ErrDuplicate)
		}
		names[p.Name], keys[p.PublicKey] = true, true
		seen := map[string]bool{}
		for _, l := range p.Links {
			if !links[l.Link] {
				return fmt.Errorf("peer %q: link %q: %w", p.Name, l.Link, multilink.ErrUnknownLink)
			}
			if seen[l.Link] {
				return fmt.Errorf("peer %q: link %q: %w", p.Name, l.Link, multilink.ErrDuplicate)
			}
			seen[l.Link] = true
		}
	}
	return nil
}
