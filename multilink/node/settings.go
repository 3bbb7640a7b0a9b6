package node

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/multilink"
)

// desired is the configuration of an instance. Values are never changed: a change makes
// new ones.
type desired struct {
	head    head
	clients []*client // by name
}

// head is the document of everything but the clients.
type head struct {
	Version    int         `json:"version"`
	Role       Role        `json:"role"`
	PrivateKey string      `json:"private_key"`
	Links      []linkForm  `json:"links"` // by priority
	Bond       bondForm    `json:"bond"`
	Classes    []classForm `json:"classes"`
	Attachment *attachment `json:"attachment,omitempty"`
	// ChosenProbes is false in what earlier versions stored: their intervals of probes
	// are the default unless they are others.
	ChosenProbes bool `json:"chosen_probes"`

	key     multilink.Key // PrivateKey, parsed
	unknown keep.Members
}

// clone returns settings whose lists may be changed.
func (s *desired) clone() *desired {
	c := &desired{head: s.head, clients: slices.Clone(s.clients)}
	c.head.Links = slices.Clone(s.head.Links)
	c.head.Classes = slices.Clone(s.head.Classes)
	return c
}

func (s *desired) link(name string) int {
	return slices.IndexFunc(s.head.Links, func(l linkForm) bool { return l.Name == name })
}

func (s *desired) sortLinks() {
	slices.SortFunc(s.head.Links, func(a, b linkForm) int { return cmp.Compare(*a.Priority, *b.Priority) })
}

func (s *desired) sortClients() {
	slices.SortFunc(s.clients, func(a, b *client) int { return cmp.Compare(a.Name, b.Name) })
}

func (s *desired) client(key multilink.Key) int {
	return slices.IndexFunc(s.clients, func(c *client) bool { return c.key == key })
}

// publicKey is that of the instance.
func (s *desired) publicKey() multilink.Key {
	key, _ := s.head.key.PublicKey() // it was checked when it was read
	return key
}

// state is the desired state of the plane: everything but the links of which the interface is
// missing.
func (s *desired) state(port multilink.PortConfig, missing map[string]bool) (multilink.State, error) {
	state := multilink.State{Port: port, PrivateKey: s.head.key}
	state.Port.Addresses = slices.Clone(port.Addresses)
	var err error
	for i := range s.head.Links {
		if missing[s.head.Links[i].Name] {
			state.Absent = append(state.Absent, s.head.Links[i].Name)
			continue
		}
		link, err := s.head.Links[i].config(s.head.Role)
		if err != nil {
			return state, err
		}
		state.Links = append(state.Links, link)
	}
	if state.Bond, err = s.head.Bond.config(); err != nil {
		return state, err
	}
	if state.Classes, err = classConfigs(s.head.Classes, s.head.Links); err != nil {
		return state, err
	}
	if s.head.Role == Server {
		return state, s.addClients(&state)
	}
	return state, s.addServer(&state)
}

func (s *desired) addClients(state *multilink.State) error {
	for _, c := range s.clients {
		if !c.Enabled {
			continue
		}
		peer := multilink.PeerConfig{Name: c.Name, PublicKey: c.key, Addresses: slices.Clone(c.Addresses)}
		for _, link := range state.Links {
			psk, err := c.psk(link.Name)
			if err != nil {
				return err
			}
			peer.Links = append(peer.Links, multilink.PeerLink{Link: link.Name, PresharedKey: psk})
		}
		state.Peers = append(state.Peers, peer)
	}
	return nil
}

// serverName is the name that a client uses for its server as a peer.
const serverName = "server"

func (s *desired) addServer(state *multilink.State) error {
	a := s.head.Attachment
	if a == nil {
		return nil
	}
	keys, err := a.check(s.head.key)
	if err != nil {
		return err
	}
	state.PrivateKey = keys.private
	state.Port.Addresses = slices.Clone(a.Addresses)
	peer := multilink.PeerConfig{Name: serverName, PublicKey: keys.server}
	for _, link := range state.Links {
		endpoint, ok := a.Resolved[link.Name]
		if !ok {
			continue
		}
		peer.Links = append(peer.Links, multilink.PeerLink{Link: link.Name, Endpoint: endpoint, PresharedKey: keys.psk[link.Name]})
	}
	state.Peers = append(state.Peers, peer)
	return nil
}

// unpaired are the links that only one of the two ends has, by the configuration of the
// client, with the reasons.
func (s *desired) unpaired() map[string]string {
	reasons := map[string]string{}
	a := s.head.Attachment
	if a == nil {
		return reasons
	}
	for _, link := range a.Links {
		if s.link(link.Name) < 0 {
			reasons[link.Name] = "the server has it, and this client has not"
		} else if _, ok := a.Resolved[link.Name]; !ok {
			reasons[link.Name] = "the host name of its endpoint is not known to the name service"
		}
	}
	for _, link := range s.head.Links {
		if !slices.ContainsFunc(a.Links, func(l provisionLink) bool { return l.Name == link.Name }) {
			reasons[link.Name] = "this client has it, and the server has not"
		}
	}
	return reasons
}

// withResolved returns settings with other addresses of the endpoints; ok is false if
// they are the same.
func (s *desired) withResolved(resolved map[string]netip.AddrPort) (_ *desired, ok bool) {
	if s.head.Attachment == nil || maps.Equal(s.head.Attachment.Resolved, resolved) {
		return s, false
	}
	next := s.clone()
	a := *s.head.Attachment
	a.Resolved = resolved
	next.head.Attachment = &a
	return next, true
}
