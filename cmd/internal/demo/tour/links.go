package tour

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/multilink/memory"
)

// Links cuts a link of a network in memory once in each interval, for a quarter of it, until
// ctx ends. It leaves the link in order.
func Links(ctx context.Context, network *memory.Network, link string, every time.Duration) error {
	path := memory.Path{Link: link}
	defer network.Heal(path)
	for wait(ctx, every-every/4) {
		if err := network.Cut(path); err != nil {
			return ended(ctx, err)
		}
		if !wait(ctx, every/4) {
			break
		}
		network.Heal(path)
	}
	return nil
}
