// Package view has what an instance shows of itself: its settings with what its plane does.
package view

import (
	"encoding/json"
	"net/netip"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Figures are what was measured on a link, or on a link to one peer. The tags metric and help
// describe them for Prometheus.
type Figures struct {
	State      status.State `json:"state"`
	Active     bool         `json:"active" metric:"active" help:"1 while the link carries the frames of a peer."`
	Reason     string       `json:"reason"`
	RTT        Milliseconds `json:"rtt_ms" metric:"rtt_seconds" help:"Smoothed round trip; 0 is unknown."`
	Jitter     Milliseconds `json:"jitter_ms" metric:"jitter_seconds" help:"Variation of the round trip."`
	Loss       float64      `json:"loss"` // the greater of both directions
	PathMTU    int          `json:"path_mtu" metric:"path_mtu_bytes" help:"Longest packet of IP known to cross the link; 0 is unknown."`
	TxBytes    uint64       `json:"tx_bytes" metric:"sent_bytes_total" help:"Bytes of packets that were sent."`
	RxBytes    uint64       `json:"rx_bytes" metric:"received_bytes_total" help:"Bytes of packets that were received."`
	LastChange *time.Time   `json:"last_change"`
}

func newFigures(link status.Link) Figures {
	return Figures{
		State: shown(link.State), Active: link.Active, Reason: link.Reason,
		RTT: Milliseconds(link.RTT), Jitter: Milliseconds(link.Jitter), Loss: max(link.LossTx, link.LossRx),
		PathMTU: link.PathMTU, TxBytes: link.TxBytes, RxBytes: link.RxBytes, LastChange: moment(link.LastChange),
	}
}

// Link is a managed link as it is shown.
type Link struct {
	Name      string        `json:"name"`
	Interface string        `json:"interface"`
	Kind      settings.Kind `json:"kind"`
	Priority  int           `json:"priority" metric:"priority" help:"The smallest is the primary."`
	Role      string        `json:"role"` // primary or backup
	Figures
	Up       bool          `json:"-" metric:"up" help:"1 while the link carries frames or could."`
	LossTx   float64       `json:"loss_tx" metric:"loss_tx_ratio" help:"Probes that the peer did not get."`
	LossRx   float64       `json:"loss_rx" metric:"loss_rx_ratio" help:"Probes of the peer that did not arrive."`
	Endpoint string        `json:"endpoint,omitempty"`
	Listen   uint16        `json:"listen"`
	Metered  bool          `json:"metered"`
	Quota    uint64        `json:"quota_bytes"`
	Cost     int           `json:"cost"`
	Rate     uint64        `json:"rate_bps"`
	MaxLoss  float64       `json:"max_loss"`
	MaxRTT   float64       `json:"max_rtt_ms"`
	Disabled bool          `json:"disabled"`
	Probe    desired.Probe `json:"probe"`
}

// View is the settings of an instance and what the plane does, at one moment.
type View struct {
	Settings *desired.Settings
	Plane    multilink.Status
	// Missing are the links whose interface does not exist.
	Missing map[string]bool
	// Port is the device of the instance, with the addresses of a server.
	Port  multilink.PortConfig
	Began time.Time
	// Fault is why the plane does not do what is configured; nil if it does.
	Fault error
}

// Links returns the links by priority.
func (v *View) Links() []Link {
	seen := map[string]status.Link{}
	for _, link := range v.Plane.Links {
		seen[link.Name] = link
	}
	links := make([]Link, 0, len(v.Settings.Head.Links))
	for i := range v.Settings.Head.Links {
		configured := &v.Settings.Head.Links[i]
		missing := v.Missing[configured.Name]
		link := newLink(configured, i == 0)
		if measured, ok := seen[configured.Name]; ok && !missing {
			link.Figures = newFigures(measured)
			link.LossTx = measured.LossTx
			link.LossRx = measured.LossRx
			link.Listen = measured.Port
		}
		switch {
		case configured.Disabled:
			link.LossTx, link.LossRx = 0, 0
			link.Figures = Figures{
				State: status.Disabled, Reason: "disabled by the administrator",
				TxBytes: link.TxBytes, RxBytes: link.RxBytes, LastChange: link.LastChange,
			}
		case missing:
			link.State, link.Reason = status.Down, "the interface "+configured.Carrier()+" is missing"
			link.Loss = 1
			link.LossTx = 1
			link.LossRx = 1
		}
		link.Up = link.State == status.Up
		links = append(links, link)
	}
	return links
}

func newLink(l *desired.Link, primary bool) Link {
	link := Link{
		Name: l.Name, Interface: l.Carrier(), Kind: l.Kind, Priority: *l.Priority, Role: "backup", Figures: Figures{State: status.Down},
		Endpoint: l.Endpoint, Metered: l.Metered, Quota: l.Quota, Cost: l.Cost, Rate: l.Rate, MaxLoss: l.MaxLoss, MaxRTT: l.MaxRTT,
		Disabled: l.Disabled, Probe: l.Probe.Shown(l.Metered),
	}
	if primary {
		link.Role = "primary"
	}
	return link
}

// shown returns a state as records have it, which have no probing: a link that is being
// probed carries nothing.
func shown(state status.State) status.State {
	if state == status.Probing || state == "" {
		return status.Down
	}
	return state
}

// moment returns a time, or nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Peer is a peer as it is shown: a client of a server, or the server of a client.
type Peer struct {
	Name          string          `json:"name"`
	PublicKey     string          `json:"public_key"`
	Enabled       bool            `json:"enabled"`
	Connected     bool            `json:"connected"`
	LastHandshake *time.Time      `json:"last_handshake"`
	ActiveLink    string          `json:"active_link"`
	Conflict      string          `json:"conflict,omitempty"` // another instance uses one of the keys
	Addresses     []netip.Prefix  `json:"addresses"`
	Links         []PeerLink      `json:"links"`
	Counters      status.Counters `json:"counters"`
}

// PeerLink is a link to one peer.
type PeerLink struct {
	Name string `json:"name"`
	Figures
	Paired bool `json:"paired"` // false until a packet of the peer arrives on it
}

func (p *Peer) see(peer multilink.PeerStatus) {
	p.Connected = peer.Connected
	p.ActiveLink = peer.ActiveLink
	p.LastHandshake = moment(peer.Handshake)
	p.Conflict = peer.Conflict
	p.Counters = peer.Counters
	for _, link := range peer.Links {
		p.Links = append(p.Links, PeerLink{Name: link.Name, Figures: newFigures(link), Paired: link.RxBytes > 0})
	}
}

// Clients returns the clients of a server by name.
func (v *View) Clients() []Peer {
	seen := v.peers()
	clients := make([]Peer, 0, len(v.Settings.Clients))
	for _, c := range v.Settings.Clients {
		clients = append(clients, newClient(c, seen))
	}
	return clients
}

// Client returns one client of a server.
func (v *View) Client(c *desired.Client) Peer { return newClient(c, v.peers()) }

func (v *View) peers() map[multilink.Key]multilink.PeerStatus {
	seen := map[multilink.Key]multilink.PeerStatus{}
	for _, peer := range v.Plane.Peers {
		seen[peer.PublicKey] = peer
	}
	return seen
}

func newClient(c *desired.Client, seen map[multilink.Key]multilink.PeerStatus) Peer {
	client := Peer{Name: c.Name, PublicKey: c.PublicKey, Enabled: c.Enabled, Addresses: c.Addresses, Links: []PeerLink{}}
	if peer, ok := seen[c.Key()]; ok && c.Enabled {
		client.see(peer)
	}
	return client
}

// Attachment is what a client shows of its attachment.
type Attachment struct {
	Server          string            `json:"server"`
	Name            string            `json:"name"`
	PublicKey       string            `json:"public_key"`
	ServerPublicKey string            `json:"server_public_key"`
	Addresses       []netip.Prefix    `json:"addresses"`
	Endpoints       map[string]string `json:"endpoints"` // by link
	Peer            *Peer             `json:"peer"`
	Unpaired        map[string]string `json:"unpaired"` // reasons by link
}

// Attachment returns the attachment of a client; nil if it is not attached.
func (v *View) Attachment() *Attachment {
	a := v.Settings.Head.Attachment
	if a == nil {
		return nil
	}
	r := &Attachment{Server: a.Server, Name: a.Name, PublicKey: a.PublicKey, ServerPublicKey: a.ServerPublicKey,
		Addresses: a.Addresses, Endpoints: map[string]string{}, Unpaired: v.Settings.Unpaired()}
	for _, link := range a.Links {
		r.Endpoints[link.Name] = link.Endpoint
	}
	peer := Peer{Name: desired.ServerName, PublicKey: a.ServerPublicKey, Enabled: true, Addresses: []netip.Prefix{},
		Links: []PeerLink{}}
	for _, known := range v.Plane.Peers {
		if known.PublicKey.Base64() == a.ServerPublicKey {
			peer.see(known)
		}
	}
	r.Peer = &peer
	return r
}

// Status is an instance as it is shown.
type Status struct {
	Role       desired.Role      `json:"role"`
	PublicKey  string            `json:"public_key"`
	Port       string            `json:"port"`
	Addresses  []netip.Prefix    `json:"addresses"`
	Ready      bool              `json:"ready"`
	Fault      string            `json:"fault,omitempty"`
	Since      time.Time         `json:"since"`
	Bond       desired.Bond      `json:"bond"`
	Links      []Link            `json:"links"`
	Clients    []Peer            `json:"clients,omitempty"`
	Attachment *Attachment       `json:"attachment,omitempty"`
	Unpaired   map[string]string `json:"unpaired"`
}

// Status returns the whole instance.
func (v *View) Status() Status {
	s := v.Settings
	r := Status{
		Role: s.Head.Role, PublicKey: s.PublicKey().Base64(), Port: v.Port.Name, Addresses: slices.Clone(v.Port.Addresses),
		Since: v.Began.UTC(), Bond: s.Head.Bond, Links: v.Links(), Attachment: v.Attachment(), Unpaired: s.Unpaired(),
	}
	if r.Addresses == nil {
		r.Addresses = []netip.Prefix{}
	}
	if v.Fault != nil {
		r.Fault = v.Fault.Error()
	} else {
		r.Ready = true
	}
	if s.Head.Role == desired.RoleServer {
		r.Clients = v.Clients()
		for _, c := range r.Clients {
			for _, link := range c.Links {
				if c.Connected && !link.Paired {
					r.Unpaired[link.Name] = "client " + c.Name + " was never heard on it"
				}
			}
		}
	} else if a := s.Head.Attachment; a != nil {
		r.Addresses = a.Addresses
	}
	return r
}

// Milliseconds is a duration that JSON has in milliseconds.
type Milliseconds time.Duration

// Seconds returns the duration in seconds.
func (d Milliseconds) Seconds() float64 { return time.Duration(d).Seconds() }

// Number returns the duration in milliseconds.
func (d Milliseconds) Number() float64 { return float64(d) / float64(time.Millisecond) }

// MarshalJSON implements json.Marshaler.
func (d Milliseconds) MarshalJSON() ([]byte, error) { return json.Marshal(d.Number()) }
