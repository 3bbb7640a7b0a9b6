package node

import (
	"context"
	"time"

	"github.com/iotenablers/enablers/internal/history"
	"github.com/iotenablers/enablers/multilink/node/internal/view"
)

// meter records the figures of a node's links for the plots.
type meter struct{ *Node }

// run records until ctx ends.
func (n meter) run(ctx context.Context) {
	tick := time.NewTicker(history.Step)
	defer tick.Stop()
	for {
		n.measure()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// measure records the current figures. A link whose round trip is unknown has no round trip and
// no loss.
func (n meter) measure() {
	managed := map[string]bool{}
	for _, link := range n.now.Load().Head.Links {
		managed[link.Name] = !link.Disabled
	}
	for _, link := range n.config.Plane.Status().Links {
		if !managed[link.Name] {
			continue
		}
		name := "link/" + link.Name + "/"
		n.history.Total(name+"bits", 8*float64(link.TxBytes+link.RxBytes))
		if link.RTT > 0 {
			n.history.Level(name+"rtt", view.Milliseconds(link.RTT).Number())
			n.history.Level(name+"loss", 100*max(link.LossTx, link.LossRx))
		}
	}
}
