//go:build linux

package kernel

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/iotenablers/enablers/multilink"
)

// Status is what is going on now; see [multilink.Plane]. Bytes are those of
// WireGuard's packets, and frames those of the bonds.
func (p *Plane) Status() multilink.Status {
	p.applying.Lock()
	defer p.applying.Unlock()
	if p.closed || p.port == nil {
		return multilink.Status{}
	}
	tunnels := map[string]map[multilink.Key]wgtypes.Peer{}
	for name, l := range p.links {
		tunnels[name] = p.host.tunnels(l)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	status := multilink.Status{Port: p.port.bridge}
	for _, to := range p.peers {
		status.Peers = append(status.Peers, p.peerStatus(to, tunnels))
	}
	slices.SortFunc(status.Peers, func(a, b multilink.PeerStatus) int { return strings.Compare(a.Name, b.Name) })
	for _, c := range p.state.Links {
		status.Links = append(status.Links, p.linkStatus(c, status.Peers))
	}
	slices.SortFunc(status.Links, byPriority)
	return status
}

func byPriority(a, b multilink.LinkStatus) int { return cmp.Compare(a.Priority, b.Priority) }

// tunnels returns what WireGuard knows of the peers on a link. That is little
// when the device is gone.
func (h *host) tunnels(l *link) map[multilink.Key]wgtypes.Peer {
	known := map[multilink.Key]wgtypes.Peer{}
	device, err := h.wg.Device(l.device)
	if err != nil {
		return known
	}
	for _, peer := range device.Peers {
		known[multilink.Key(peer.PublicKey)] = peer
	}
	return known
}

func (p *Plane) peerStatus(to *peer, tunnels map[string]map[multilink.Key]wgtypes.Peer) multilink.PeerStatus {
	status := multilink.PeerStatus{Name: to.config.Name, PublicKey: to.config.PublicKey, Counters: to.count}
	if device, err := p.host.links.LinkByIndex(to.index); err == nil && device.Attrs().Statistics != nil {
		seen := device.Attrs().Statistics
		status.Counters.TxFrames, status.Counters.RxFrames = seen.TxPackets, seen.RxPackets
		status.Counters.TxBytes, status.Counters.RxBytes = seen.TxBytes, seen.RxBytes
		status.Counters.Dropped = seen.TxDropped
	}
	for _, name := range slices.Sorted(maps.Keys(to.paths)) {
		one, w := to.paths[name], to.paths[name].watch
		tunnel := tunnels[name][to.config.PublicKey]
		status.Links = append(status.Links, multilink.LinkStatus{
			Name: name, Interface: interfaceOf(one.link.config), Kind: one.link.config.Kind, Priority: one.link.config.Priority,
			State: w.state, Active: one == to.active && w.state != multilink.Down,
			RTT: w.srtt, Jitter: w.rttvar, LossTx: w.lossTx, LossRx: w.lossRx(),
			TxBytes: uint64(tunnel.TransmitBytes), RxBytes: uint64(tunnel.ReceiveBytes), Port: one.link.port,
			LastChange: p.begun.Add(w.changed), Reason: w.reason,
		})
		if tunnel.LastHandshakeTime.After(status.Handshake) {
			status.Handshake = tunnel.LastHandshakeTime
		}
		status.Connected = status.Connected || w.state == multilink.Up
	}
	slices.SortFunc(status.Links, byPriority)
	if to.active != nil && to.active.watch.state != multilink.Down {
		status.ActiveLink = to.active.link.config.Name
	}
	return status
}

// linkStatus joins what is known of a link to all peers.
func (p *Plane) linkStatus(c multilink.LinkConfig, peers []multilink.PeerStatus) multilink.LinkStatus {
	status := multilink.LinkStatus{Name: c.Name, Interface: interfaceOf(c), Kind: c.Kind, Priority: c.Priority, State: multilink.Down, Reason: "no peer"}
	if c.Disabled {
		status.State, status.Reason = multilink.Disabled, "disabled"
		return status
	}
	if l := p.links[c.Name]; l != nil {
		status.Port = l.port
	}
	order := []multilink.LinkState{multilink.Down, multilink.Probing, multilink.Up}
	for i, to := range peers {
		at := slices.IndexFunc(to.Links, func(l multilink.LinkStatus) bool { return l.Name == c.Name })
		if at < 0 {
			continue
		}
		one := to.Links[at]
		if i == 0 || slices.Index(order, one.State) > slices.Index(order, status.State) || status.LastChange.IsZero() {
			status.State, status.Reason = one.State, one.Reason
		}
		status.Active = status.Active || one.Active
		status.RTT, status.Jitter = max(status.RTT, one.RTT), max(status.Jitter, one.Jitter)
		status.LossTx, status.LossRx = max(status.LossTx, one.LossTx), max(status.LossRx, one.LossRx)
		status.TxBytes += one.TxBytes
		status.RxBytes += one.RxBytes
		status.LastChange = latest(status.LastChange, one.LastChange)
	}
	return status
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
