package node

import (
	"net/netip"
	"slices"
	"time"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
	"github.com/iotenablers/enablers/multilink/status"
)

// linkRecord is a managed link as it is shown.
type linkRecord struct {
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
	Probe      probeForm     `json:"probe"`
}

// records makes the records that a node shows.
type records struct{ *Node }

// linkRecords are the links by priority.
func (n records) linkRecords(s *desired) []linkRecord {
	missing := *n.missing.Load()
	seen := map[string]status.Link{}
	for _, status := range n.config.Plane.Status().Links {
		seen[status.Name] = status
	}
	records := make([]linkRecord, 0, len(s.head.Links))
	for i := range s.head.Links {
		form := &s.head.Links[i]
		r := form.record(i == 0)
		if status, ok := seen[form.Name]; ok && !missing[form.Name] {
			r.see(status)
		}
		switch {
		case form.Disabled:
			r.State, r.Active, r.Reason = status.Disabled, false, "disabled by the administrator"
			r.RTT, r.Jitter, r.Loss, r.LossTx, r.LossRx, r.PathMTU = 0, 0, 0, 0, 0, 0
		case missing[form.Name]:
			r.State, r.Reason = status.Down, "the interface "+form.carrier()+" is missing"
			r.Loss, r.LossTx, r.LossRx = 1, 1, 1
		}
		records = append(records, r)
	}
	return records
}

func (l *linkForm) record(primary bool) linkRecord {
	r := linkRecord{
		Name: l.Name, Interface: l.carrier(), Kind: l.Kind, Priority: *l.Priority, Role: "backup", State: status.Down,
		Endpoint: l.Endpoint, Metered: l.Metered, Quota: l.Quota, Cost: l.Cost, Rate: l.Rate, MaxLoss: l.MaxLoss, MaxRTT: l.MaxRTT,
		Disabled: l.Disabled, Probe: l.Probe.shown(l.Metered),
	}
	if primary {
		r.Role = "primary"
	}
	return r
}

func (r *linkRecord) see(status status.Link) {
	r.State, r.Active, r.Reason = shown(status.State), status.Active, status.Reason
	r.RTT, r.Jitter = inMilliseconds(status.RTT), inMilliseconds(status.Jitter)
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

// peerRecord is a peer as it is shown: to a server its client, to a client its server.
type peerRecord struct {
	Name          string           `json:"name"`
	PublicKey     string           `json:"public_key"`
	Enabled       bool             `json:"enabled"`
	Connected     bool             `json:"connected"`
	LastHandshake *time.Time       `json:"last_handshake"`
	ActiveLink    string           `json:"active_link"`
	Conflict      string           `json:"conflict,omitempty"` // another instance uses one of the keys
	Addresses     []netip.Prefix   `json:"addresses"`
	Links         []peerLinkRecord `json:"links"`
	Counters      countersRecord   `json:"counters"`
}

// peerLinkRecord is a link to one peer.
type peerLinkRecord struct {
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

type countersRecord struct {
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

func (r *peerRecord) see(status multilink.PeerStatus) {
	r.Connected, r.ActiveLink, r.LastHandshake = status.Connected, status.ActiveLink, moment(status.Handshake)
	r.Conflict = status.Conflict
	r.Counters = countersRecord(status.Counters)
	for _, link := range status.Links {
		r.Links = append(r.Links, peerLinkRecord{
			Name: link.Name, State: shown(link.State), Active: link.Active, Paired: link.RxBytes > 0, Reason: link.Reason,
			RTT: inMilliseconds(link.RTT), Jitter: inMilliseconds(link.Jitter), Loss: max(link.LossTx, link.LossRx),
			PathMTU: link.PathMTU, TxBytes: link.TxBytes, RxBytes: link.RxBytes, LastChange: moment(link.LastChange),
		})
	}
}

// clientRecords are the clients by name.
func (n records) clientRecords(s *desired) []peerRecord {
	seen := map[multilink.Key]multilink.PeerStatus{}
	for _, status := range n.config.Plane.Status().Peers {
		seen[status.PublicKey] = status
	}
	records := make([]peerRecord, 0, len(s.clients))
	for _, c := range s.clients {
		records = append(records, c.record(seen))
	}
	return records
}

func (c *client) record(seen map[multilink.Key]multilink.PeerStatus) peerRecord {
	r := peerRecord{Name: c.Name, PublicKey: c.PublicKey, Enabled: c.Enabled, Addresses: c.Addresses, Links: []peerLinkRecord{}}
	if status, ok := seen[c.key]; ok && c.Enabled {
		r.see(status)
	}
	return r
}

// attachmentRecord is what a client shows of its attachment.
type attachmentRecord struct {
	Server          string            `json:"server"`
	Name            string            `json:"name"`
	PublicKey       string            `json:"public_key"`
	ServerPublicKey string            `json:"server_public_key"`
	Addresses       []netip.Prefix    `json:"addresses"`
	Endpoints       map[string]string `json:"endpoints"` // by link
	Peer            *peerRecord       `json:"peer"`
	Unpaired        map[string]string `json:"unpaired"` // reasons by link
}

func (n records) attachmentRecord(s *desired) *attachmentRecord {
	a := s.head.Attachment
	if a == nil {
		return nil
	}
	r := &attachmentRecord{Server: a.Server, Name: a.Name, PublicKey: a.PublicKey, ServerPublicKey: a.ServerPublicKey,
		Addresses: a.Addresses, Endpoints: map[string]string{}, Unpaired: s.unpaired()}
	for _, link := range a.Links {
		r.Endpoints[link.Name] = link.Endpoint
	}
	peer := peerRecord{Name: serverName, PublicKey: a.ServerPublicKey, Enabled: true, Addresses: []netip.Prefix{},
		Links: []peerLinkRecord{}}
	for _, status := range n.config.Plane.Status().Peers {
		if status.PublicKey.Base64() == a.ServerPublicKey {
			peer.see(status)
		}
	}
	r.Peer = &peer
	return r
}

// statusRecord is an instance as it is shown.
type statusRecord struct {
	Role       Role              `json:"role"`
	PublicKey  string            `json:"public_key"`
	Port       string            `json:"port"`
	Addresses  []netip.Prefix    `json:"addresses"`
	Ready      bool              `json:"ready"`
	Fault      string            `json:"fault,omitempty"`
	Since      time.Time         `json:"since"`
	Bond       bondForm          `json:"bond"`
	Links      []linkRecord      `json:"links"`
	Clients    []peerRecord      `json:"clients,omitempty"`
	Attachment *attachmentRecord `json:"attachment,omitempty"`
	Unpaired   map[string]string `json:"unpaired"`
}

func (n records) statusRecord() statusRecord {
	s := n.now.Load()
	r := statusRecord{
		Role: n.config.Role, PublicKey: s.publicKey().Base64(), Port: n.config.Port.Name, Addresses: slices.Clone(n.config.Port.Addresses),
		Since: n.began.UTC(), Bond: s.head.Bond, Links: n.linkRecords(s), Attachment: n.attachmentRecord(s), Unpaired: s.unpaired(),
	}
	if r.Addresses == nil {
		r.Addresses = []netip.Prefix{}
	}
	if err := n.Health(); err != nil {
		r.Fault = err.Error()
	} else {
		r.Ready = true
	}
	if n.config.Role == Server {
		r.Clients = n.clientRecords(s)
		for _, c := range r.Clients {
			for _, link := range c.Links {
				if c.Connected && !link.Paired {
					r.Unpaired[link.Name] = "client " + c.Name + " was never heard on it"
				}
			}
		}
	} else if a := s.head.Attachment; a != nil {
		r.Addresses = a.Addresses
	}
	return r
}

// eventRecord is an event as it is shown.
type eventRecord struct {
	Time   time.Time    `json:"time"`
	Type   string       `json:"type"`
	Peer   string       `json:"peer,omitempty"`
	Link   string       `json:"link,omitempty"`
	From   string       `json:"from,omitempty"`
	State  status.State `json:"state,omitempty"`
	Reason string       `json:"reason,omitempty"`
	Missed int          `json:"missed,omitempty"`
}
