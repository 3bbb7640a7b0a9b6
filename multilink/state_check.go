package multilink

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/multilink/internal/ethernet"
	"github.com/iotenablers/enablers/multilink/settings"
)

// maxStateLinks bounds the links of one instance: probes name links in a bitmap.
const maxStateLinks = 16

// Check reports the first field of s that is not allowed. The error wraps ErrInvalid,
// or ErrDuplicate for a name, key or priority that is given twice.
func (s State) Check() error {
	if s.PrivateKey.IsZero() {
		return fmt.Errorf("state: private key: missing: %w", ErrInvalid)
	}
	if s.Port.Name != "" {
		if err := s.Port.Check(); err != nil {
			return err
		}
	}
	if err := s.Bond.Check(); err != nil {
		return err
	}
	if err := s.checkLinks(); err != nil {
		return err
	}
	if err := s.checkClasses(); err != nil {
		return err
	}
	return s.checkPeers()
}

func (s State) checkLinks() error {
	if len(s.Links) > maxStateLinks {
		return fmt.Errorf("state: links: must be %d at most, got %d: %w", maxStateLinks, len(s.Links), ErrInvalid)
	}
	names := make(map[string]bool, len(s.Links))
	priorities := make(map[int]string, len(s.Links))
	type socket struct {
		carrier string
		port    uint16
	}
	sockets := make(map[socket]string, len(s.Links)) // sockets of different interfaces may share a port
	for _, l := range s.Links {
		if err := l.Check(); err != nil {
			return err
		}
		if names[l.Name] {
			return fmt.Errorf("link %q: name: given twice: %w", l.Name, ErrDuplicate)
		}
		names[l.Name] = true
		if other, taken := priorities[l.Priority]; taken {
			return fmt.Errorf("link %q: priority: %d is that of %q: %w", l.Name, l.Priority, other, ErrDuplicate)
		}
		priorities[l.Priority] = l.Name
		if l.Listen == 0 {
			continue
		}
		at := socket{cmp.Or(l.Interface, l.Name), l.Listen}
		if other, taken := sockets[at]; taken {
			return fmt.Errorf("link %q: listen: port %d of interface %q is that of %q: %w", l.Name, l.Listen,
				at.carrier, other, ErrDuplicate)
		}
		sockets[at] = l.Name
	}
	return nil
}

func (s State) checkClasses() error {
	for i, name := range s.Absent {
		if s.hasLink(name) {
			return fmt.Errorf("absent[%d]: %q is among the links: %w", i, name, ErrDuplicate)
		}
	}
	if _, err := ethernet.NewClassifier(s.Classes); err != nil {
		return err
	}
	for _, c := range s.Classes {
		for i, name := range c.Links {
			if !s.hasLink(name) && !slices.Contains(s.Absent, name) {
				return fmt.Errorf("class %q: links[%d]: %q is not managed: %w", c.Name, i, name, ErrInvalid)
			}
		}
	}
	return nil
}

func (s State) checkPeers() error {
	names := make(map[string]bool, len(s.Peers))
	keys := make(map[Key]string, len(s.Peers))
	for _, p := range s.Peers {
		if p.Name == "" {
			return fmt.Errorf("peer: name: missing: %w", ErrInvalid)
		}
		if p.PublicKey.IsZero() {
			return fmt.Errorf("peer %q: public key: missing: %w", p.Name, ErrInvalid)
		}
		if names[p.Name] {
			return fmt.Errorf("peer %q: name: given twice: %w", p.Name, ErrDuplicate)
		}
		names[p.Name] = true
		if other, taken := keys[p.PublicKey]; taken {
			return fmt.Errorf("peer %q: public key: is that of %q: %w", p.Name, other, ErrDuplicate)
		}
		keys[p.PublicKey] = p.Name
		seen := make(map[string]bool, len(p.Links))
		for _, l := range p.Links {
			if !s.hasLink(l.Link) {
				return fmt.Errorf("peer %q: link %q: is not managed: %w", p.Name, l.Link, ErrInvalid)
			}
			if seen[l.Link] {
				return fmt.Errorf("peer %q: link %q: given twice: %w", p.Name, l.Link, ErrDuplicate)
			}
			seen[l.Link] = true
		}
	}
	return nil
}

func (s State) hasLink(name string) bool {
	return slices.ContainsFunc(s.Links, func(l settings.Link) bool { return l.Name == name })
}
