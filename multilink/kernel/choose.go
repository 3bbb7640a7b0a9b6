//go:build linux

package kernel

import (
	"slices"

	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// choose returns the path to its peer that a bond is to use, or nil where no path is
// better than the present one. The first path that is up wins, metered ones last.
// Where none is up, a path that is heard and still probed wins. A path that is
// preferred, for maintenance, wins while it is up.
func choose(paths []*path, current *path, preferred string, reselect settings.Reselect) *path {
	ordered := slices.SortedFunc(slices.Values(paths), func(a, b *path) int {
		if a.link.config.Metered != b.link.config.Metered {
			if a.link.config.Metered {
				return 1
			}
			return -1
		}
		return a.link.config.Priority - b.link.config.Priority
	})
	in := func(state status.State) *path {
		for _, p := range ordered {
			if p.watch.state == state {
				return p
			}
		}
		return nil
	}
	for _, p := range ordered {
		if p.link.config.Name == preferred && p.watch.state == status.Up {
			return p
		}
	}
	best := in(status.Up)
	if best == nil {
		if current != nil && current.watch.state == status.Probing {
			return current
		}
		return in(status.Probing)
	}
	if current == nil || current.watch.state != status.Up {
		return best
	}
	switch {
	case reselect == settings.ReselectFailure:
		return current
	case reselect == settings.ReselectBetter && best.watch.srtt > current.watch.srtt:
		return current
	}
	return best
}
