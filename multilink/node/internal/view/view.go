// Package view has what an instance shows of itself: its settings with what its plane does.
package view

import (
	"net/netip"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/desired"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// Link is a managed link as it is shown.
type Link struct {
	Name       string        `json:"name"`
	Interface  string        `json:"interface"`
	Kind       settings.Kind `json:"kind"`
	Priority   int           `json:"priority"`
	Role       string        `json:"role"` // primary or backup
	State      status.State  `json:"state"`
	Active     bool          `json:"active"`
	Reason     string        `json:"reason"`
	RTT        float64       `json:"rtt_ms"`
	Jitter     float64       `json:"jitter_ms"`
	Loss       float64       `json:"loss"`
	LossTx     float64       `json:"loss_tx"`
	LossRx     float64       `json:"loss_rx"`
	PathMTU    int           `json:"path_mtu"`
	TxBytes    uint64        `json:"tx_bytes"`
	RxBytes    uint64        `json:"rx_bytes"`
	LastChange *time.Time    `json:"last_change"`
	Endpoint   string        `json:"endpoint,omitempty"`
	Listen     uint16        `json:"listen"`
	Metered    bool          `json:"metered"`
	Quota      uint64        `json:"quota_bytes"`
	Cost       int           `json:"cost"`
	Rate       uint64        `json:"rate_bps"`
	MaxLoss    float64       `json:"max_loss"`
	MaxRTT     float64       `json:"max_rtt_ms"`
	Disabled   bool          `json:"disabled"`
	Probe      desired.Probe `json:"probe"`
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

// Links are the links by priority.
func (v *View) Links() []Link {
	seen := map[string]status.Link{}
	for _, status := range v.Plane.Links {
		seen[status.Name] = status
	}
	records := make([]Link, 0, len(v.Settings.Head.Links))
	for i := range v.Settings.Head.Links {
		form := &v.Settings.Head.Links[i]
		r := linkOf(form, i == 0)
		if status, ok := seen[form.Name]; ok && !v.Missing[form.Name] {
			r.see(status)
		}
		switch {
		case form.Disabled:
			r.State, r.Active, r.Reason = status.Disabled, false, "disabled by the administrator"
			r.RTT, r.Jitter, r.Loss, r.LossTx, r.LossRx, r.PathMTU = 0, 0, 0, 0, 0, 0
		case v.Missing[form.Name]:
			r.State, r.Reason = status.Down, "the interface "+form.Carrier()+" is missing"
			r.Loss, r.LossTx, r.LossRx = 1, 1, 1
		}
		records = append(records, r)
	}
	return records
}

func linkOf(l *desired.Link, primary bool) Link {
	r := Link{
		Name: l.Name, Interface: l.Carrier(), Kind: l.Kind, Priority: *l.Priority, Role: "backup", State: status.Down,
		Endpoint: l.Endpoint, Metered: l.Metered, Quota: l.Quota, Cost: l.Cost, Rate: l.Rate, MaxLoss: l.MaxLoss, MaxRTT: l.MaxRTT,
		Disabled: l.Disabled, Probe: l.Probe.Shown(l.Metered),
	}
	if primary {
		r.Role = "primary"
	}
	return r
}

func (r *Link) see(status status.Link) {
	r.State, r.Active, r.Reason = shown(status.State), status.Active, status.Reason
	r.RTT, r.Jitter = Milliseconds(status.RTT), Milliseconds(status.Jitter)
	r.LossTx, r.LossRx, r.Loss = status.LossTx, status.LossRx, max(status.LossTx, status.LossRx)
	r.PathMTU, r.TxBytes, r.RxBytes, r.Listen = status.PathMTU, status.TxBytes, status.RxBytes, status.Port
	r.LastChange = moment(status.LastChange)
}

// shown is a state as records have it, which have no probing: a link that is being
// probed carries nothing.
func shown(state status.State) status.State {
	if state == status.Probing || state == "" {
		return status.Down
	}
	return state
}

// moment is a time, or nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Peer is a peer as it is shown: to a server its client, to a client its server.
type Peer struct {
	Name          string         `json:"name"`
	PublicKey     string         `json:"public_key"`
	Enabled       bool           `json:"enabled"`
	Connected     bool           `json:"connected"`
	LastHandshake *time.Time     `json:"last_handshake"`
	ActiveLink    string         `json:"active_link"`
	Conflict      string         `json:"conflict,omitempty"` // another instance uses one of the keys
	Addresses     []netip.Prefix `json:"addresses"`
	Links         []PeerLink     `json:"links"`
	Counters      Counters       `json:"counters"`
}

// PeerLink is a link to one peer.
type PeerLink struct {
	Name       string       `json:"name"`
	State      status.State `json:"state"`
	Active     bool         `json:"active"`
	Paired     bool         `json:"paired"` // false until the peer is heard on it
	Reason     string       `json:"reason"`
	RTT        float64      `json:"rtt_ms"`
	Jitter     float64      `json:"jitter_ms"`
	Loss       float64      `json:"loss"`
	PathMTU    int          `json:"path_mtu"`
	TxBytes    uint64       `json:"tx_bytes"`
	RxBytes    uint64       `json:"rx_bytes"`
	LastChange *time.Time   `json:"last_change"`
}

// Counters are the counters of a peer.
type Counters struct {
	TxFrames    uint64 `json:"tx_frames"`
	RxFrames    uint64 `json:"rx_frames"`
	TxBytes     uint64 `json:"tx_bytes"`
	RxBytes     uint64 `json:"rx_bytes"`
	Failovers   uint64 `json:"failovers"`
	Returns     uint64 `json:"returns"`
	Replayed    uint64 `json:"replayed"`
	Duplicates  uint64 `json:"duplicates"`
	Evicted     uint64 `json:"evicted"`
	Expired     uint64 `json:"expired"`
	Dropped     uint64 `json:"dropped"`
	Fragmented  uint64 `json:"fragmented"`
	Reassembled uint64 `json:"reassembled"`
	Incomplete  uint64 `json:"incomplete"`
	Refused     uint64 `json:"refused"`
}

func (r *Peer) see(status multilink.PeerStatus) {
	r.Connected, r.ActiveLink, r.LastHandshake = status.Connected, status.ActiveLink, moment(status.Handshake)
	r.Conflict = status.Conflict
	r.Counters = Counters(status.Counters)
	for _, link := range status.Links {
		r.Links = append(r.Links, PeerLink{
			Name: link.Name, State: shown(link.State), Active: link.Active, Paired: link.RxBytes > 0, Reason: link.Reason,
			RTT: Milliseconds(link.RTT), Jitter: Milliseconds(link.Jitter), Loss: max(link.LossTx, link.LossRx),
			PathMTU: link.PathMTU, TxBytes: link.TxBytes, RxBytes: link.RxBytes, LastChange: moment(link.LastChange),
		})
	}
}

// Clients are the clients of a server by name.
func (v *View) Clients() []Peer {
	seen := v.peers()
	clients := make([]Peer, 0, len(v.Settings.Clients))
	for _, c := range v.Settings.Clients {
		clients = append(clients, clientOf(c, seen))
	}
	return clients
}

// Client is one client of a server.
func (v *View) Client(c *desired.Client) Peer { return clientOf(c, v.peers()) }

func (v *View) peers() map[multilink.Key]multilink.PeerStatus {
	seen := map[multilink.Key]multilink.PeerStatus{}
	for _, status := range v.Plane.Peers {
		seen[status.PublicKey] = status
	}
	return seen
}

func clientOf(c *desired.Client, seen map[multilink.Key]multilink.PeerStatus) Peer {
	r := Peer{Name: c.Name, PublicKey: c.PublicKey, Enabled: c.Enabled, Addresses: c.Addresses, Links: []PeerLink{}}
	if status, ok := seen[c.Key()]; ok && c.Enabled {
		r.see(status)
	}
	return r
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

// Attachment is the attachment of a client; nil if it is not attached.
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
	for _, status := range v.Plane.Peers {
		if status.PublicKey.Base64() == a.ServerPublicKey {
			peer.see(status)
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

// Status is the whole instance.
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

// Milliseconds returns a duration as documents have it.
func Milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
