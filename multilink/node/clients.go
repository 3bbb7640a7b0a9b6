package node

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"

	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/settings"
)

// addClient provisions a client and returns what it needs to attach.
func (n *Node) addClient(ctx context.Context, form clientForm) (*provision, error) {
	if err := n.config.only(Server); err != nil {
		return nil, err
	}
	var private multilink.Key
	var public multilink.Key
	var err error
	if form.PublicKey != nil {
		public, err = parsePublic("public_key", *form.PublicKey)
	} else {
		private = newPrivateKey()
		public, err = private.PublicKey()
	}
	if err != nil {
		return nil, err
	}
	made := &client{Version: version, Name: form.Name, PublicKey: public.Base64(), key: public, Enabled: true, Secret: make([]byte, 32)}
	_, _ = rand.Read(made.Secret) // it never fails
	next, err := n.change(ctx, func(s *desired) (string, error) {
		if made.Name == "" {
			made.Name = s.freeName()
		}
		if err := s.checkClient(made, n.config.MaxClients); err != nil {
			return "", err
		}
		var err error
		if made.Addresses, err = addressesFor(form.Addresses, n.config.Port.Addresses, s.clients); err != nil {
			return "", err
		}
		s.clients = append(s.clients, made)
		s.sortClients()
		return clientKey(public), nil
	})
	if err != nil {
		return nil, err
	}
	n.recordChange("config", "", made.Name, "client added")
	p, err := next.provision(made)
	if err == nil && !private.IsZero() {
		p.PrivateKey = private.Base64()
	}
	return p, err
}

// freeName is the first of client-1, client-2 and so on that is not taken.
func (s *desired) freeName() string {
	for i := 1; ; i++ {
		name := fmt.Sprintf("client-%d", i)
		if !slices.ContainsFunc(s.clients, func(c *client) bool { return c.Name == name }) {
			return name
		}
	}
}

func (s *desired) checkClient(made *client, most int) error {
	if len(s.clients) >= most {
		return clash("", "there are %d clients, which is the most", most)
	}
	if !settings.ValidName(made.Name) {
		return wrong("name", "want 1 to 32 letters, digits, '.', '-' or '_', got %.100q", made.Name)
	}
	if s.publicKey() == made.key {
		return clash("public_key", "it is the server's own")
	}
	for _, other := range s.clients {
		switch {
		case other.key == made.key:
			return clash("public_key", "client %q has it already", other.Name)
		case other.Name == made.Name:
			return clash("name", "another client is called %q", made.Name)
		}
	}
	return nil
}

// provision is what a client needs to attach, without its private key.
func (s *desired) provision(c *client) (*provision, error) {
	p := &provision{Name: c.Name, PublicKey: c.PublicKey, ServerPublicKey: s.publicKey().Base64(),
		Addresses: c.Addresses, Links: []provisionLink{}}
	for _, link := range s.head.Links {
		psk, err := c.psk(link.Name)
		if err != nil {
			return nil, err
		}
		p.Links = append(p.Links, provisionLink{Name: link.Name, Endpoint: link.Endpoint, PSK: psk.Base64()})
	}
	return p, nil
}

// provisionAgain is what the client needs, whose private key is not known here.
func (s *desired) provisionAgain(text string) (*provision, error) {
	at, err := s.find(text)
	if err != nil {
		return nil, err
	}
	return s.provision(s.clients[at])
}

// find is the place of the client with that public key.
func (s *desired) find(text string) (int, error) {
	key, err := parsePublic("public_key", text)
	if err != nil {
		return 0, err
	}
	at := s.client(key)
	if at < 0 {
		return 0, absent("public_key", "no client has the public key %s", key.Base64())
	}
	return at, nil
}

// enableClient enables or disables a client.
func (n *Node) enableClient(ctx context.Context, text string, enabled bool) (*desired, *client, error) {
	if err := n.config.only(Server); err != nil {
		return nil, nil, err
	}
	var changed *client
	unchanged := false
	change := n.revoke
	if enabled {
		change = n.change
	}
	next, err := change(ctx, func(s *desired) (string, error) {
		at, err := s.find(text)
		if err != nil {
			return "", err
		}
		if changed = s.clients[at]; changed.Enabled == enabled {
			unchanged = true
			return "", errUnchanged
		}
		c := *changed
		c.Enabled = enabled
		changed, s.clients[at] = &c, &c
		return clientKey(c.key), nil
	})
	if err != nil || unchanged {
		return next, changed, err
	}
	what := "client disabled"
	if enabled {
		what = "client enabled"
	}
	n.recordChange("config", "", changed.Name, what)
	return next, changed, nil
}

// deleteClient deletes a client and its keys.
func (n *Node) deleteClient(ctx context.Context, text string) error {
	if err := n.config.only(Server); err != nil {
		return err
	}
	var name string
	_, err := n.revoke(ctx, func(s *desired) (string, error) {
		at, err := s.find(text)
		if err != nil {
			return "", err
		}
		gone := s.clients[at]
		name = gone.Name
		s.clients = slices.Delete(s.clients, at, at+1)
		return clientKey(gone.key), nil
	})
	if err == nil {
		n.recordChange("config", "", name, "client deleted")
	}
	return err
}

// only returns an error for an operation of the other role.
func (c *Config) only(role Role) error {
	if c.Role != role {
		return clash("", "this instance is a %s: only a %s does that", c.Role, role)
	}
	return nil
}
