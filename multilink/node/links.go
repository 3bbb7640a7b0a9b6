package node

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// addLink adds a link.
func (n *Node) addLink(ctx context.Context, form linkForm) (*desired, error) {
	next, err := n.change(ctx, func(s *desired) (string, error) {
		if len(s.head.Links) >= MaxLinks {
			return "", clash("", "there are %d links, which is the most", MaxLinks)
		}
		if s.link(form.Name) >= 0 {
			return "", clash("name", "link %q is managed already", form.Name)
		}
		if err := n.findCarrier(ctx, &form); err != nil {
			return "", err
		}
		form.complete(s.head.Links)
		if _, err := form.config(n.config.Role); err != nil {
			return "", err
		}
		s.head.Links = append(s.head.Links, form)
		s.sortLinks()
		return headKey, s.checkLink(form.Name)
	})
	if err == nil {
		n.recordChange("config", form.Name, "", "link added")
	}
	return next, err
}

// findCarrier finds the interface of a link that names none: the one that is named like
// the link or, on a server without such, the one that has the address of the endpoint.
func (n *Node) findCarrier(ctx context.Context, form *linkForm) error {
	if form.Interface != "" || form.Endpoint == "" || n.config.Interfaces == nil {
		return nil
	}
	all, err := n.config.list(ctx)
	if err != nil {
		return err
	}
	for _, info := range all {
		if info.Interface == form.Name {
			return nil
		}
	}
	host, _, err := splitEndpoint(form.Endpoint)
	if err != nil {
		return wrong("endpoint", "%v", err)
	}
	if address, err := netip.ParseAddr(host); err == nil {
		form.Interface = owner(all, address)
	}
	return nil
}

// checkLink returns an error for what two links cannot have in common.
func (s *desired) checkLink(name string) error {
	link := &s.head.Links[s.link(name)]
	config, err := link.config(s.head.Role)
	if err != nil {
		return err
	}
	for i := range s.head.Links {
		other := &s.head.Links[i]
		if other.Name == name {
			continue
		}
		if *other.Priority == *link.Priority {
			return clash("priority", "%d is the priority of link %q", *link.Priority, other.Name)
		}
		theirs, err := other.config(s.head.Role)
		if err != nil {
			return err
		}
		if config.Listen != 0 && theirs.Listen == config.Listen && other.carrier() == link.carrier() {
			return clash("endpoint", "address in use: link %q has port %d of interface %q", other.Name, config.Listen, other.carrier())
		}
	}
	return nil
}

// changeLink changes a link as edit does.
func (n *Node) changeLink(ctx context.Context, name string, edit func(*linkForm) error) (*desired, error) {
	next, err := n.change(ctx, func(s *desired) (string, error) {
		at := s.link(name)
		if at < 0 {
			return "", absent("name", "no link %q is managed", name)
		}
		form := s.head.Links[at]
		if err := edit(&form); err != nil {
			return "", err
		}
		if form.Name != name {
			return "", clash("name", "a link keeps its name, by which its two ends are paired")
		}
		form.complete(s.head.Links)
		if _, err := form.config(n.config.Role); err != nil {
			return "", err
		}
		s.head.Links[at] = form
		s.sortLinks()
		return headKey, s.checkLink(name)
	})
	if err == nil {
		n.recordChange("config", name, "", "link changed")
	}
	return next, err
}

// deleteLink deletes a link.
func (n *Node) deleteLink(ctx context.Context, name string) error {
	_, err := n.change(ctx, func(s *desired) (string, error) {
		at := s.link(name)
		if at < 0 {
			return "", absent("name", "no link %q is managed", name)
		}
		for _, class := range s.head.Classes {
			if slices.Contains(class.Links, name) {
				return "", clash("name", "traffic class %q names link %q", class.Name, name)
			}
		}
		s.head.Links = slices.Delete(s.head.Links, at, at+1)
		return headKey, nil
	})
	if err == nil {
		n.recordChange("config", name, "", "link deleted")
	}
	return err
}

// orderLinks assigns the priorities of the links in another order.
func (n *Node) orderLinks(ctx context.Context, order []string) (*desired, error) {
	next, err := n.change(ctx, func(s *desired) (string, error) {
		have := make([]string, len(s.head.Links))
		priorities := make([]int, len(s.head.Links))
		for i := range s.head.Links {
			have[i], priorities[i] = s.head.Links[i].Name, *s.head.Links[i].Priority
		}
		if slices.Equal(order, have) {
			return "", errUnchanged
		}
		if !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(have))) {
			return "", clash("order", "want each of the managed links once, which are [%s], got [%.1000s]",
				strings.Join(have, " "), strings.Join(order, " "))
		}
		for i, name := range order {
			s.head.Links[s.link(name)].Priority = &priorities[i]
		}
		s.sortLinks()
		return headKey, nil
	})
	if err == nil {
		n.recordChange("config", "", "", "order of links is "+strings.Join(order, ", "))
	}
	return next, err
}

// setBond changes the settings of bonds. edit gets the present ones.
func (n *Node) setBond(ctx context.Context, edit func(*bondForm) error) (*desired, error) {
	next, err := n.change(ctx, func(s *desired) (string, error) {
		if err := edit(&s.head.Bond); err != nil {
			return "", err
		}
		s.head.Bond.complete()
		_, err := s.head.Bond.config()
		return headKey, err
	})
	if err == nil {
		n.recordChange("policy", "", "", "policy is "+string(next.head.Bond.Policy))
	}
	return next, err
}

// setClasses replaces the classes of traffic.
func (n *Node) setClasses(ctx context.Context, classes []classForm) (*desired, error) {
	next, err := n.change(ctx, func(s *desired) (string, error) {
		s.head.Classes = classes
		_, err := classConfigs(classes, s.head.Links)
		return headKey, err
	})
	if err == nil {
		n.recordChange("config", "", "", "traffic classes changed")
	}
	return next, err
}

// longestHold is how long a manual switch holds at most.
const longestHold = 24 * time.Hour

// switchTo prefers a link for a time. It is not stored.
func (n *Node) switchTo(ctx context.Context, link string, hold time.Duration) error {
	if err := n.started(ctx); err != nil {
		return err
	}
	now := n.now.Load()
	if at := now.link(link); link != "" {
		switch {
		case at < 0:
			return absent("link", "no link %q is managed", link)
		case now.head.Links[at].Disabled:
			return clash("link", "link %q is disabled", link)
		case (*n.missing.Load())[link]:
			return clash("link", "the interface of link %q is missing", link)
		}
	}
	if err := n.config.Plane.Switch(link, hold); err != nil {
		return err
	}
	n.logger.Info("links are switched by hand", "link", link, "hold", hold)
	return nil
}
