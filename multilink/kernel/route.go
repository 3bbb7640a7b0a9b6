//go:build linux

package kernel

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// lastMetric is the metric of the route that matches where no other one does.
const lastMetric = 1 << 30

// bind makes packets with the mark leave through the interface alone: by a table that
// mirrors the interface's routes and ends in an unreachable route. Another call
// follows changes of the routes. An interface that does not exist has no routes.
func (h *host) bind(mark uint32, device string) error {
	index := -1
	if link, err := h.links.LinkByName(device); err == nil {
		index = link.Attrs().Index
	} else if !errors.As(err, &netlink.LinkNotFoundError{}) {
		return fmt.Errorf("find %q: %w", device, err)
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		if err := h.mirror(family, int(mark), index); err != nil {
			return fmt.Errorf("mirror the routes of %q: %w", device, err)
		}
		rule := netlink.NewRule()
		rule.Family = family
		rule.Priority = rulePriority
		rule.Mark = mark
		rule.Table = int(mark)
		if err := h.links.RuleAdd(rule); err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("bind to %q: %w", device, explain(err))
		}
	}
	return nil
}

// unbind undoes bind.
func (h *host) unbind(mark uint32) error {
	var failed []error
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		rule := netlink.NewRule()
		rule.Family = family
		rule.Priority = rulePriority
		rule.Mark = mark
		rule.Table = int(mark)
		if err := h.links.RuleDel(rule); err != nil && !errors.Is(err, unix.ENOENT) {
			failed = append(failed, fmt.Errorf("remove a rule: %w", explain(err)))
		}
		failed = append(failed, h.flush(family, int(mark)))
	}
	return errors.Join(failed...)
}

// mirror copies the routes of a device from the main table to the table.
func (h *host) mirror(family, table, index int) error {
	last := netlink.Route{Family: family, Table: table, Type: unix.RTN_UNREACHABLE, Priority: lastMetric,
		Protocol: protocol, Dst: everything(family)}
	wanted := map[string]bool{}
	if err := h.links.RouteReplace(&last); err != nil {
		return explain(err)
	}
	if index > 0 {
		routes, err := h.links.RouteListFiltered(family, &netlink.Route{LinkIndex: index, Table: unix.RT_TABLE_MAIN},
			netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
		if err != nil {
			return err
		}
		for _, route := range onLinkFirst(routes) {
			route.Table = table
			route.Protocol = protocol
			route.Flags = route.Flags & int(netlink.FLAG_ONLINK)
			if err := h.links.RouteReplace(&route); err != nil {
				return explain(err)
			}
			wanted[routeKey(route)] = true
		}
	}
	held, err := h.table(family, table)
	if err != nil {
		return err
	}
	for _, route := range held {
		if route.Priority != lastMetric && !wanted[routeKey(route)] {
			if err := h.links.RouteDel(&route); err != nil && !errors.Is(err, unix.ESRCH) {
				return explain(err)
			}
		}
	}
	return nil
}

// onLinkFirst puts routes through a gateway behind those that lead to it.
func onLinkFirst(routes []netlink.Route) []netlink.Route {
	var direct, indirect []netlink.Route
	for _, route := range routes {
		if route.Gw == nil {
			direct = append(direct, route)
		} else {
			indirect = append(indirect, route)
		}
	}
	return append(direct, indirect...)
}

// routeKey identifies a route of a table.
func routeKey(route netlink.Route) string {
	return fmt.Sprint(route.Dst, " ", route.Priority, " ", route.Gw, " ", route.LinkIndex)
}

func (h *host) table(family, table int) ([]netlink.Route, error) {
	return h.links.RouteListFiltered(family, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
}

func (h *host) flush(family, table int) error {
	held, err := h.table(family, table)
	if err != nil {
		return fmt.Errorf("list a routing table: %w", err)
	}
	var failed []error
	for _, route := range held {
		if err := h.links.RouteDel(&route); err != nil && !errors.Is(err, unix.ESRCH) {
			failed = append(failed, fmt.Errorf("remove a route: %w", explain(err)))
		}
	}
	return errors.Join(failed...)
}

// cleanRouting removes the rules that have the tag, and their tables.
func (h *host) cleanRouting(family int) error {
	rules, err := h.links.RuleList(family)
	if err != nil {
		return fmt.Errorf("list routing rules: %w", err)
	}
	var failed []error
	for _, rule := range rules {
		if rule.Priority == rulePriority && rule.Mark&0xffffff00 == h.tag {
			failed = append(failed, h.unbind(rule.Mark))
		}
	}
	return errors.Join(failed...)
}
