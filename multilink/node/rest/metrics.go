package rest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node"
	"github.com/iotenablers/enablers/multilink/node/internal/view"
	"github.com/iotenablers/enablers/multilink/status"
)

// collector reads the numbers of a node when they are collected, in the text format of Prometheus.
type collector struct {
	node  *node.Node
	ready *prometheus.Desc
	known *prometheus.Desc
	links []metric[view.Link]
	peers []metric[multilink.PeerStatus]
}

// metric is one number of all links or peers.
type metric[T any] struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(T) float64
}

func newCollector(n *node.Node) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("multilink_"+name, help, labels, nil)
	}
	c := &collector{
		node:  n,
		ready: desc("ready", "1 while what is configured is what is done."),
		known: desc("clients", "Clients that are configured, by whether they are enabled.", "enabled"),
	}
	link := func(name, help string, kind prometheus.ValueType, of func(view.Link) float64) {
		c.links = append(c.links, metric[view.Link]{desc("link_"+name, help, "link"), kind, of})
	}
	link("up", "1 while the link carries frames or could.", prometheus.GaugeValue,
		func(l view.Link) float64 { return truth(l.State == status.Up) })
	link("active", "1 while the link carries the frames of a peer.", prometheus.GaugeValue,
		func(l view.Link) float64 { return truth(l.Active) })
	link("priority", "The smallest is the primary.", prometheus.GaugeValue, func(l view.Link) float64 { return float64(l.Priority) })
	link("rtt_seconds", "Smoothed round trip; 0 is unknown.", prometheus.GaugeValue, func(l view.Link) float64 { return l.RTT / 1000 })
	link("jitter_seconds", "Variation of the round trip.", prometheus.GaugeValue, func(l view.Link) float64 { return l.Jitter / 1000 })
	link("loss_tx_ratio", "Probes that the peer did not get.", prometheus.GaugeValue, func(l view.Link) float64 { return l.LossTx })
	link("loss_rx_ratio", "Probes of the peer that did not arrive.", prometheus.GaugeValue, func(l view.Link) float64 { return l.LossRx })
	link("path_mtu_bytes", "Longest packet of IP that is known to cross the link; 0 is unknown.", prometheus.GaugeValue,
		func(l view.Link) float64 { return float64(l.PathMTU) })
	link("sent_bytes_total", "Bytes of packets that were sent.", prometheus.CounterValue,
		func(l view.Link) float64 { return float64(l.TxBytes) })
	link("received_bytes_total", "Bytes of packets that were received.", prometheus.CounterValue,
		func(l view.Link) float64 { return float64(l.RxBytes) })

	peer := func(name, help string, kind prometheus.ValueType, of func(multilink.PeerStatus) float64) {
		c.peers = append(c.peers, metric[multilink.PeerStatus]{desc("peer_"+name, help, "peer"), kind, of})
	}
	counter := func(name, help string, of func(status.Counters) uint64) {
		peer(name+"_total", help, prometheus.CounterValue, func(p multilink.PeerStatus) float64 { return float64(of(p.Counters)) })
	}
	peer("connected", "1 while a link to the peer is usable.", prometheus.GaugeValue,
		func(p multilink.PeerStatus) float64 { return truth(p.Connected) })
	peer("conflict", "1 while another instance uses the key of the peer, or of this one.", prometheus.GaugeValue,
		func(p multilink.PeerStatus) float64 { return truth(p.Conflict != "") })
	counter("sent_frames", "Frames that were taken to be sent.", func(c status.Counters) uint64 { return c.TxFrames })
	counter("received_frames", "Frames that were delivered.", func(c status.Counters) uint64 { return c.RxFrames })
	counter("sent_bytes", "Bytes of frames that were taken to be sent.", func(c status.Counters) uint64 { return c.TxBytes })
	counter("received_bytes", "Bytes of frames that were delivered.", func(c status.Counters) uint64 { return c.RxBytes })
	counter("failovers", "How many times another link took over.", func(c status.Counters) uint64 { return c.Failovers })
	counter("returns", "How many of these were to a better link that was back.", func(c status.Counters) uint64 { return c.Returns })
	counter("replayed_frames", "Frames that were sent again after a failover.", func(c status.Counters) uint64 { return c.Replayed })
	counter("duplicate_frames", "Frames that had arrived before.", func(c status.Counters) uint64 { return c.Duplicates })
	counter("evicted_frames", "Frames that were forgotten unacknowledged.", func(c status.Counters) uint64 { return c.Evicted })
	counter("expired_frames", "Frames that came too late to be checked for duplicates.", func(c status.Counters) uint64 { return c.Expired })
	counter("dropped_frames", "Frames that found no link or no room.", func(c status.Counters) uint64 { return c.Dropped })
	counter("incomplete_frames", "Frames of which a piece was lost.", func(c status.Counters) uint64 { return c.Incomplete })
	counter("refused_frames", "Frames from an Ethernet address of another peer or of this host.",
		func(c status.Counters) uint64 { return c.Refused })
	return c
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.ready
	descs <- c.known
	for _, m := range c.links {
		descs <- m.desc
	}
	for _, m := range c.peers {
		descs <- m.desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	seen := c.node.View(c.node.Settings())
	metrics <- prometheus.MustNewConstMetric(c.ready, prometheus.GaugeValue, truth(seen.Fault == nil))
	enabled := 0
	for _, client := range seen.Settings.Clients {
		if client.Enabled {
			enabled++
		}
	}
	metrics <- prometheus.MustNewConstMetric(c.known, prometheus.GaugeValue, float64(enabled), "true")
	metrics <- prometheus.MustNewConstMetric(c.known, prometheus.GaugeValue, float64(len(seen.Settings.Clients)-enabled), "false")
	for _, link := range seen.Links() {
		for _, m := range c.links {
			metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(link), link.Name)
		}
	}
	for _, peer := range seen.Plane.Peers {
		for _, m := range c.peers {
			metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, m.of(peer), peer.Name)
		}
	}
}
