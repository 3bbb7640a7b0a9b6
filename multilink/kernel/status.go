//go:build linux

package kernel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Status returns the current state; see [multilink.Plane]. Bytes are those of
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

func byPriority(a, b status.Link) int { return cmp.Compare(a.Priority, b.Priority) }

// tunnels returns what WireGuard reports of the peers on a link. That is little
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
	current := multilink.PeerStatus{Name: to.config.Name, PublicKey: to.config.PublicKey, Counters: to.count}
	if device, err := p.host.links.LinkByIndex(to.index); err == nil && device.Attrs().Statistics != nil {
		seen := device.Attrs().Statistics
		current.Counters.TxFrames, current.Counters.RxFrames = seen.TxPackets, seen.RxPackets
		current.Counters.TxBytes, current.Counters.RxBytes = seen.TxBytes, seen.RxBytes
		current.Counters.Dropped = seen.TxDropped
	}
	for _, name := range slices.Sorted(maps.Keys(to.paths)) {
		one, w := to.paths[name], to.paths[name].watch
		tunnel := tunnels[name][to.config.PublicKey]
		seen := status.Link{
			Name: name, Interface: one.link.config.InterfaceName(), Kind: one.link.config.Kind, Priority: one.link.config.Priority,
			State: w.state, Active: one == to.active && w.state != status.Down,
			RTT: w.srtt, Jitter: w.rttvar, LossTx: w.lossTx, LossRx: w.lossRx(),
			TxBytes: uint64(tunnel.TransmitBytes), RxBytes: uint64(tunnel.ReceiveBytes), Port: one.link.port,
			LastChange: p.begun.Add(w.changed), Reason: w.reason,
		}
		if most := w.path.Length() - segmentOverhead; most < p.port.mtu {
			seen.Reason = fmt.Sprintf("it swallows long frames: the MTU of the port must be %d at most, got %d", most, p.port.mtu)
		}
		if known := w.path.Known(); known > 0 {
			seen.PathMTU = known + outerHeaders(tunnel)
		}
		if w.state == status.Down {
			seen.RTT = 0
			seen.Jitter = 0
			seen.LossTx = 1
			seen.PathMTU = 0
			seen.Reason = w.reason
			if !w.heard {
				seen.LossRx = 1
			}
		}
		current.Links = append(current.Links, seen)
		if tunnel.LastHandshakeTime.After(current.Handshake) {
			current.Handshake = tunnel.LastHandshakeTime
		}
		current.Connected = current.Connected || w.state == status.Up
	}
	slices.SortFunc(current.Links, byPriority)
	if to.active != nil && to.active.watch.state != status.Down {
		current.ActiveLink = to.active.link.config.Name
	}
	return current
}

// outerHeaders returns what a packet of the tunnel to a peer grows by.
func outerHeaders(tunnel wgtypes.Peer) int {
	if tunnel.Endpoint != nil && tunnel.Endpoint.IP.To4() != nil {
		return tunnelOverhead - 20
	}
	return tunnelOverhead
}

// linkStatus joins the states of a link to all peers.
func (p *Plane) linkStatus(c settings.Link, peers []multilink.PeerStatus) status.Link {
	current := status.Link{Name: c.Name, Interface: c.InterfaceName(), Kind: c.Kind, Priority: c.Priority,
		State: status.Down, Reason: "no peer"}
	if c.Disabled {
		current.State, current.Reason = status.Disabled, "disabled"
		return current
	}
	if l := p.links[c.Name]; l != nil {
		current.Port = l.port
	}
	order := []status.State{status.Down, status.Probing, status.Up}
	var measured []status.Link
	for i, to := range peers {
		at := slices.IndexFunc(to.Links, func(l status.Link) bool { return l.Name == c.Name })
		if at < 0 {
			continue
		}
		one := to.Links[at]
		if i == 0 || slices.Index(order, one.State) > slices.Index(order, current.State) || current.LastChange.IsZero() {
			current.State, current.Reason = one.State, one.Reason
		}
		current.Active = current.Active || one.Active
		current.TxBytes += one.TxBytes
		current.RxBytes += one.RxBytes
		current.LastChange = latest(current.LastChange, one.LastChange)
		measured = append(measured, one)
	}
	current.Measured(measured)
	return current
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
