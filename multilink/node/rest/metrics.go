package rest

import (
	"strconv"

	"github.com/iotenablers/enablers/internal/exposition"
	"github.com/iotenablers/enablers/internal/httpapi"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/view"
)

// nodeMetrics are the metrics of a node at one moment.
type nodeMetrics struct {
	Ready   bool                            `metric:"ready" help:"1 while what is configured is what is done."`
	Clients map[string]int                  `metric:"clients" label:"enabled" help:"Clients that are configured, by whether they are enabled."`
	Links   map[string]view.Link            `metric:"link_" label:"link"`
	Peers   map[string]multilink.PeerStatus `metric:"peer_" label:"peer"`
}

// metrics serves the metrics of a node, and of the process, from a registry of its own.
func metrics(n *node.Node) httpapi.HandlerFunc {
	return exposition.Handler(exposition.Collector("multilink_", func() nodeMetrics {
		seen := n.View(n.Settings())
		current := nodeMetrics{
			Ready:   seen.Fault == nil,
			Clients: map[string]int{"true": 0, "false": 0},
			Links:   map[string]view.Link{},
			Peers:   map[string]multilink.PeerStatus{},
		}
		for _, client := range seen.Settings.Clients {
			current.Clients[strconv.FormatBool(client.Enabled)]++
		}
		for _, link := range seen.Links() {
			current.Links[link.Name] = link
		}
		for _, peer := range seen.Plane.Peers {
			current.Peers[peer.Name] = peer
		}
		return current
	}))
}
