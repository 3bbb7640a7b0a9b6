package desired

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/iotenablers/enablers/multilink/node/internal/fault"
)

// MaxLinks is how many links an instance has at most.
const MaxLinks = 16

// LongestHold is how long a manual switch holds at most.
const LongestHold = 24 * time.Hour

// AddLink adds a link.
func AddLink(form Link) Edit {
	return Edit{apply: func(ctx context.Context, s *Settings, at *Environment) (Outcome, error) {
		if len(s.Head.Links) >= MaxLinks {
			return Outcome{}, fault.Clash("", "there are %d links, which is the most", MaxLinks)
		}
		if s.LinkAt(form.Name) >= 0 {
			return Outcome{}, fault.Clash("name", "link %q is managed already", form.Name)
		}
		if err := at.findCarrier(ctx, &form); err != nil {
			return Outcome{}, err
		}
		form.complete(s.Head.Links)
		if _, err := form.config(s.Head.Role); err != nil {
			return Outcome{}, err
		}
		s.Head.Links = append(s.Head.Links, form)
		s.sortLinks()
		return Outcome{headKey, &Event{Type: "config", Link: form.Name, Reason: "link added"}}, s.checkLink(form.Name)
	}}
}

// findCarrier finds the interface of a link that names none: the one that is named like
// the link or, on a server without such, the one that has the address of the endpoint.
func (e *Environment) findCarrier(ctx context.Context, form *Link) error {
	if form.Interface != "" || form.Endpoint == "" || e.Interfaces == nil {
		return nil
	}
	all, err := e.Interfaces(ctx)
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
		return fault.Wrong("endpoint", "%v", err)
	}
	if address, err := netip.ParseAddr(host); err == nil {
		form.Interface = owner(all, address)
	}
	return nil
}

// checkLink returns an error for what two links cannot have in common.
func (s *Settings) checkLink(name string) error {
	link := &s.Head.Links[s.LinkAt(name)]
	config, err := link.config(s.Head.Role)
	if err != nil {
		return err
	}
	for i := range s.Head.Links {
		other := &s.Head.Links[i]
		if other.Name == name {
			continue
		}
		if *other.Priority == *link.Priority {
			return fault.Clash("priority", "%d is the priority of link %q", *link.Priority, other.Name)
		}
		theirs, err := other.config(s.Head.Role)
		if err != nil {
			return err
		}
		if config.Listen != 0 && theirs.Listen == config.Listen && other.Carrier() == link.Carrier() {
			return fault.Clash("endpoint", "address in use: link %q has port %d of interface %q", other.Name, config.Listen, other.Carrier())
		}
	}
	return nil
}

// ChangeLink changes a link as edit does.
func ChangeLink(name string, edit func(*Link) error) Edit {
	return Edit{apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		at := s.LinkAt(name)
		if at < 0 {
			return Outcome{}, noLink("name", name)
		}
		form := s.Head.Links[at]
		if err := edit(&form); err != nil {
			return Outcome{}, err
		}
		if form.Name != name {
			return Outcome{}, fault.Clash("name", "a link keeps its name, by which its two ends are paired")
		}
		form.complete(s.Head.Links)
		if _, err := form.config(s.Head.Role); err != nil {
			return Outcome{}, err
		}
		s.Head.Links[at] = form
		s.sortLinks()
		return Outcome{headKey, &Event{Type: "config", Link: name, Reason: "link changed"}}, s.checkLink(name)
	}}
}

// DeleteLink deletes a link.
func DeleteLink(name string) Edit {
	return Edit{apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		at := s.LinkAt(name)
		if at < 0 {
			return Outcome{}, noLink("name", name)
		}
		for _, class := range s.Head.Classes {
			if slices.Contains(class.Links, name) {
				return Outcome{}, fault.Clash("name", "traffic class %q names link %q", class.Name, name)
			}
		}
		s.Head.Links = slices.Delete(s.Head.Links, at, at+1)
		return Outcome{headKey, &Event{Type: "config", Link: name, Reason: "link deleted"}}, nil
	}}
}

// OrderLinks assigns the priorities of the links in another order.
func OrderLinks(order []string) Edit {
	return Edit{apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		have := make([]string, len(s.Head.Links))
		priorities := make([]int, len(s.Head.Links))
		for i := range s.Head.Links {
			have[i], priorities[i] = s.Head.Links[i].Name, *s.Head.Links[i].Priority
		}
		done := &Event{Type: "config", Reason: "order of links is " + strings.Join(order, ", ")}
		if slices.Equal(order, have) {
			return Outcome{Event: done}, nil
		}
		if !slices.Equal(slices.Sorted(slices.Values(order)), slices.Sorted(slices.Values(have))) {
			return Outcome{}, fault.Clash("order", "must name each managed link once, [%s], got [%.1000s]",
				strings.Join(have, " "), strings.Join(order, " "))
		}
		for i, name := range order {
			s.Head.Links[s.LinkAt(name)].Priority = &priorities[i]
		}
		s.sortLinks()
		return Outcome{headKey, done}, nil
	}}
}

// SetBond changes the settings of bonds. edit gets the current ones.
func SetBond(edit func(*Bond) error) Edit {
	return Edit{apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		if err := edit(&s.Head.Bond); err != nil {
			return Outcome{}, err
		}
		s.Head.Bond.complete()
		_, err := s.Head.Bond.config()
		return Outcome{headKey, &Event{Type: "policy", Reason: "policy is " + string(s.Head.Bond.Policy)}}, err
	}}
}

// SetClasses replaces the classes of traffic.
func SetClasses(classes []Class) Edit {
	return Edit{apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		s.Head.Classes = classes
		_, err := classConfigs(classes, s.Head.Links)
		return Outcome{headKey, &Event{Type: "config", Reason: "traffic classes changed"}}, err
	}}
}

// Link returns the place of a link by priority, the primary first.
func (s *Settings) Link(name string) (int, error) {
	at := s.LinkAt(name)
	if at < 0 {
		return 0, noLink("name", name)
	}
	return at, nil
}

// CheckSwitch returns an error for a link that cannot be switched to.
func (s *Settings) CheckSwitch(name string) error {
	switch at := s.LinkAt(name); {
	case at < 0:
		return noLink("link", name)
	case s.Head.Links[at].Disabled:
		return fault.Clash("link", "link %q is disabled", name)
	}
	return nil
}

func noLink(field, name string) error { return fault.Absent(field, "no link %q is managed", name) }
