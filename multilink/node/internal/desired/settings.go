package desired

import (
	"cmp"
	"slices"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/multilink"
)

// Role says which end of the tunnels an instance is.
type Role string

// The roles of an instance.
const (
	RoleServer Role = "server"
	RoleClient Role = "client"
)

// Settings are the configuration of an instance. Values are never changed: an edit changes
// a copy.
type Settings struct {
	Head    Head
	Clients []*Client // by name
}

// Head is the document of everything but the clients.
type Head struct {
	Version    int         `json:"version"`
	Role       Role        `json:"role"`
	PrivateKey string      `json:"private_key"`
	Links      []Link      `json:"links"` // by priority
	Bond       Bond        `json:"bond"`
	Classes    []Class     `json:"classes"`
	Attachment *Attachment `json:"attachment,omitempty"`
	// ChosenProbes is false in what earlier versions stored: their intervals of probes
	// are the default unless they are others.
	ChosenProbes bool `json:"chosen_probes"`

	key     multilink.Key // PrivateKey, parsed
	unknown keep.Members
}

// Clone returns settings whose lists may be changed.
func (s *Settings) Clone() *Settings {
	c := &Settings{Head: s.Head, Clients: slices.Clone(s.Clients)}
	c.Head.Links = slices.Clone(s.Head.Links)
	c.Head.Classes = slices.Clone(s.Head.Classes)
	return c
}

// LinkAt returns the place of a link by priority; negative without one.
func (s *Settings) LinkAt(name string) int {
	return slices.IndexFunc(s.Head.Links, func(l Link) bool { return l.Name == name })
}

func (s *Settings) sortLinks() {
	slices.SortFunc(s.Head.Links, func(a, b Link) int { return cmp.Compare(*a.Priority, *b.Priority) })
}

func (s *Settings) sortClients() {
	slices.SortFunc(s.Clients, func(a, b *Client) int { return cmp.Compare(a.Name, b.Name) })
}

// PublicKey returns that of the instance.
func (s *Settings) PublicKey() multilink.Key {
	key, _ := s.Head.key.PublicKey() // it was checked when it was read
	return key
}

// State returns the desired state of the plane: everything but the links of which the interface is
// missing.
func (s *Settings) State(port multilink.PortConfig, missing map[string]bool) (multilink.State, error) {
	state := multilink.State{Port: port, PrivateKey: s.Head.key}
	state.Port.Addresses = slices.Clone(port.Addresses)
	var err error
	for i := range s.Head.Links {
		if missing[s.Head.Links[i].Name] {
			state.Absent = append(state.Absent, s.Head.Links[i].Name)
			continue
		}
		link, err := s.Head.Links[i].config(s.Head.Role)
		if err != nil {
			return state, err
		}
		state.Links = append(state.Links, link)
	}
	if state.Bond, err = s.Head.Bond.config(); err != nil {
		return state, err
	}
	if state.Classes, err = classConfigs(s.Head.Classes, s.Head.Links); err != nil {
		return state, err
	}
	if s.Head.Role == RoleServer {
		return state, s.addClients(&state)
	}
	return state, s.addServer(&state)
}

func (s *Settings) addClients(state *multilink.State) error {
	for _, c := range s.Clients {
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

// ServerName is the name that a client uses for its server as a peer.
const ServerName = "server"

func (s *Settings) addServer(state *multilink.State) error {
	a := s.Head.Attachment
	if a == nil {
		return nil
	}
	keys, err := a.check(s.Head.key)
	if err != nil {
		return err
	}
	state.PrivateKey = keys.private
	state.Port.Addresses = slices.Clone(a.Addresses)
	peer := multilink.PeerConfig{Name: ServerName, PublicKey: keys.server}
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

// Unpaired returns the links that only one of the two ends has, by the configuration of the
// client, with the reasons.
func (s *Settings) Unpaired() map[string]string {
	reasons := map[string]string{}
	a := s.Head.Attachment
	if a == nil {
		return reasons
	}
	for _, link := range a.Links {
		if s.LinkAt(link.Name) < 0 {
			reasons[link.Name] = "the server has it, and this client has not"
		} else if _, ok := a.Resolved[link.Name]; !ok {
			reasons[link.Name] = "the host name of its endpoint is not known to the name service"
		}
	}
	for _, link := range s.Head.Links {
		if !slices.ContainsFunc(a.Links, func(l ProvisionLink) bool { return l.Name == link.Name }) {
			reasons[link.Name] = "this client has it, and the server has not"
		}
	}
	return reasons
}
