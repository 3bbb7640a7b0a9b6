package desired

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Admission is the edit that adds a client to a server.
type Admission struct {
	form    ClientForm
	made    *Client
	private multilink.Key // zero if the client has its own
}

// Admit returns the admission of a client.
func Admit(form ClientForm) *Admission { return &Admission{form: form} }

// Edit returns the edit.
func (a *Admission) Edit() Edit { return Edit{prepare: a.makeKeys, apply: a.add} }

func (a *Admission) makeKeys(_ context.Context, s *Settings, _ *Environment) error {
	if err := s.Only(RoleServer); err != nil {
		return err
	}
	var public multilink.Key
	var err error
	if a.form.PublicKey != nil {
		public, err = parsePublic("public_key", *a.form.PublicKey)
	} else {
		a.private = newPrivateKey()
		public, err = a.private.PublicKey()
	}
	if err != nil {
		return err
	}
	a.made = &Client{Version: version, Name: a.form.Name, PublicKey: public.Base64(), key: public, Enabled: true, Secret: make([]byte, 32)}
	_, _ = rand.Read(a.made.Secret) // it never fails
	return nil
}

func (a *Admission) add(_ context.Context, s *Settings, at *Environment) (Outcome, error) {
	if a.made.Name == "" {
		a.made.Name = s.freeName()
	}
	if err := s.checkClient(a.made, at.MaxClients); err != nil {
		return Outcome{}, err
	}
	var err error
	if a.made.Addresses, err = addressesFor(a.form.Addresses, at.Addresses, s.Clients); err != nil {
		return Outcome{}, err
	}
	s.Clients = append(s.Clients, a.made)
	s.sortClients()
	return Outcome{clientKey(a.made.key), &Event{Type: "config", Peer: a.made.Name, Reason: "client added"}}, nil
}

// Provision returns what the client needs to attach, once it has been added: s are the settings
// that it is part of.
func (a *Admission) Provision(s *Settings) (*Provision, error) {
	p, err := s.provision(a.made)
	if err == nil && !a.private.IsZero() {
		p.PrivateKey = a.private.Base64()
	}
	return p, err
}

// freeName returns the first of client-1, client-2 and so on that is not taken.
func (s *Settings) freeName() string {
	for i := 1; ; i++ {
		name := fmt.Sprintf("client-%d", i)
		if !slices.ContainsFunc(s.Clients, func(c *Client) bool { return c.Name == name }) {
			return name
		}
	}
}

func (s *Settings) checkClient(made *Client, most int) error {
	if len(s.Clients) >= most {
		return fault.Clash("", "there are %d clients, which is the most", most)
	}
	if !settings.ValidName(made.Name) {
		return fault.Wrong("name", "must be 1 to 32 letters, digits, '.', '-' or '_', got %.100q", made.Name)
	}
	if s.PublicKey() == made.key {
		return fault.Clash("public_key", "it is the server's own")
	}
	for _, other := range s.Clients {
		switch {
		case other.key == made.key:
			return fault.Clash("public_key", "client %q has it already", other.Name)
		case other.Name == made.Name:
			return fault.Clash("name", "another client is called %q", made.Name)
		}
	}
	return nil
}

// provision returns what a client needs to attach, without its private key.
func (s *Settings) provision(c *Client) (*Provision, error) {
	p := &Provision{Name: c.Name, PublicKey: c.PublicKey, ServerPublicKey: s.PublicKey().Base64(),
		Addresses: c.Addresses, Links: []ProvisionLink{}}
	for _, link := range s.Head.Links {
		psk, err := c.psk(link.Name)
		if err != nil {
			return nil, err
		}
		p.Links = append(p.Links, ProvisionLink{Name: link.Name, Endpoint: link.Endpoint, PSK: psk.Base64()})
	}
	return p, nil
}

// ProvisionAgain returns what the client with that public key needs, whose private key is not
// known here.
func (s *Settings) ProvisionAgain(publicKey string) (*Provision, error) {
	c, err := s.Client(publicKey)
	if err != nil {
		return nil, err
	}
	return s.provision(c)
}

// Client returns the client with that public key.
func (s *Settings) Client(publicKey string) (*Client, error) {
	at, err := s.find(publicKey)
	if err != nil {
		return nil, err
	}
	return s.Clients[at], nil
}

// find returns the place of the client with that public key.
func (s *Settings) find(publicKey string) (int, error) {
	key, err := parsePublic("public_key", publicKey)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(s.Clients, func(c *Client) bool { return c.key == key })
	if at < 0 {
		return 0, fault.Absent("public_key", "no client has the public key %s", key.Base64())
	}
	return at, nil
}

// EnableClient enables or disables the client with that public key.
func EnableClient(publicKey string, enabled bool) Edit {
	return Edit{Cuts: !enabled, prepare: only(RoleServer), apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		at, err := s.find(publicKey)
		if err != nil || s.Clients[at].Enabled == enabled {
			return Outcome{}, err
		}
		c := *s.Clients[at]
		c.Enabled = enabled
		s.Clients[at] = &c
		what := "client disabled"
		if enabled {
			what = "client enabled"
		}
		return Outcome{clientKey(c.key), &Event{Type: "config", Peer: c.Name, Reason: what}}, nil
	}}
}

// DeleteClient deletes the client with that public key, and its keys.
func DeleteClient(publicKey string) Edit {
	return Edit{Cuts: true, prepare: only(RoleServer), apply: func(_ context.Context, s *Settings, _ *Environment) (Outcome, error) {
		at, err := s.find(publicKey)
		if err != nil {
			return Outcome{}, err
		}
		gone := s.Clients[at]
		s.Clients = slices.Delete(s.Clients, at, at+1)
		return Outcome{clientKey(gone.key), &Event{Type: "config", Peer: gone.Name, Reason: "client deleted"}}, nil
	}}
}
