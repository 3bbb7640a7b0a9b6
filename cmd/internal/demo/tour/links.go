package tour

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/multilink/memory"
)

// Links cuts a link of a network in memory once in each interval, for a quarter of it, until
// ctx ends: the one that choose returns at that time, and none if that is empty. It leaves the
// links in order.
func Links(ctx context.Context, network *memory.Network, choose func() string, every time.Duration) error {
	for wait(ctx, every-every/4) {
		link := choose()
		if link == "" {
			continue
		}
		if err := network.Cut(memory.Path{Link: link}); err != nil {
			return ended(ctx, err)
		}
		wait(ctx, every/4)
		network.Heal(memory.Path{Link: link})
	}
	return nil
}
