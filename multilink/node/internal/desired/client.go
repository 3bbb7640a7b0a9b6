package desired

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"slices"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/multilink"
	"github.com/iotenablers/enablers/multilink/node/internal/fault"
	"github.com/iotenablers/enablers/multilink/settings"
)

// Client is a client of a server, as it is stored. It is never changed.
type Client struct {
	Version   int            `json:"version"`
	Name      string         `json:"name"`
	PublicKey string         `json:"public_key"`
	Secret    []byte         `json:"secret"` // its preshared keys are derived from it
	Enabled   bool           `json:"enabled"`
	Addresses []netip.Prefix `json:"addresses"`

	key     multilink.Key // PublicKey, parsed
	unknown keep.Members
}

// Key returns the public key.
func (c *Client) Key() multilink.Key { return c.key }

// psk returns the preshared key of a client on a link: RFC 5869's key derivation, of the
// client's secret and the link's name, so that a link that is added later has one too.
func (c *Client) psk(link string) (multilink.Key, error) {
	key, err := hkdf.Key(sha256.New, c.Secret, nil, "multilink preshared key of link "+link, 32)
	if err != nil {
		return multilink.Key{}, fmt.Errorf("derive preshared key of client %q for link %q: %w", c.Name, link, err)
	}
	return multilink.Key(key), nil
}

// clientKey returns the document of the client with that public key.
func clientKey(key multilink.Key) string { return clientPrefix + hex.EncodeToString(key[:]) }

// ClientForm is the request for a client.
type ClientForm struct {
	Name      string   `json:"name"`
	PublicKey *string  `json:"public_key"`
	Addresses []string `json:"addresses"`
}

// Provision is what a client needs to attach: the answer to the request for it.
type Provision struct {
	Name            string          `json:"name"`
	PublicKey       string          `json:"public_key"`
	PrivateKey      string          `json:"private_key,omitempty"`
	ServerPublicKey string          `json:"server_public_key" keep:"key"`
	Addresses       []netip.Prefix  `json:"addresses"`
	Links           []ProvisionLink `json:"links"`
	Server          string          `json:"server,omitempty"` // in a request to attach
}

// ProvisionLink is a link of the server.
type ProvisionLink struct {
	Name     string `json:"name" keep:"key"`
	Endpoint string `json:"endpoint"`
	PSK      string `json:"psk,omitempty"`
}

// Attachment is what a client stores of its server.
type Attachment struct {
	Provision
	// Resolved are the last known addresses of the endpoints, by link.
	Resolved map[string]netip.AddrPort `json:"resolved"`
}

// keys of an attachment, parsed.
type attachmentKeys struct {
	private, server multilink.Key
	psk             map[string]multilink.Key
}

// check reads the keys of an attachment and checks the rest. own is the private key of
// the instance, which stands for one that is not given.
func (p *Provision) check(own multilink.Key) (attachmentKeys, error) {
	k := attachmentKeys{private: own, psk: map[string]multilink.Key{}}
	var err error
	if p.PrivateKey != "" {
		if k.private, err = multilink.ParseKey(p.PrivateKey); err != nil || k.private.IsZero() {
			return k, fault.Wrong("private_key", "must be 32 bytes in base64")
		}
	}
	public, err := k.private.PublicKey()
	if err != nil {
		return k, fault.Wrong("private_key", "must be a Curve25519 key")
	}
	given, err := parsePublic("public_key", p.PublicKey)
	switch {
	case err != nil:
		return k, err
	case given != public && p.PrivateKey != "":
		return k, fault.Wrong("public_key", "it is not that of private_key")
	case given != public:
		return k, fault.Wrong("public_key", "it is not that of this instance, which is %s, and private_key is not given", public.Base64())
	}
	if k.server, err = parsePublic("server_public_key", p.ServerPublicKey); err != nil {
		return k, err
	}
	if k.server == public {
		return k, fault.Wrong("server_public_key", "it is the client's own")
	}
	if !settings.ValidName(p.Name) {
		return k, fault.Wrong("name", "must be 1 to 32 letters, digits, '.', '-' or '_', got %q", p.Name)
	}
	at, err := url.Parse(p.Server)
	if err != nil || (at.Scheme != "http" && at.Scheme != "https") || at.Host == "" || at.User != nil {
		return k, fault.Wrong("server", "must be the URL of the server, such as https://192.0.2.1:3333, without a password")
	}
	if len(p.Addresses) > maxAddresses {
		return k, fault.Wrong("addresses", "must be %d at most, got %d", maxAddresses, len(p.Addresses))
	}
	for i, address := range p.Addresses {
		if !address.IsValid() || !HostIn(address) {
			return k, fault.Wrong(fmt.Sprintf("addresses[%d]", i),
				"must be the address of a host and the length of its network's prefix, such as 10.9.0.2/24")
		}
	}
	return k, p.checkLinks(k.psk)
}

func (p *Provision) checkLinks(psk map[string]multilink.Key) error {
	if len(p.Links) == 0 || len(p.Links) > MaxLinks {
		return fault.Wrong("links", "must be 1 to %d, got %d", MaxLinks, len(p.Links))
	}
	for i, link := range p.Links {
		at := fmt.Sprintf("links[%d].", i)
		if !settings.ValidName(link.Name) {
			return fault.Wrong(at+"name", "must be 1 to 32 letters, digits, '.', '-' or '_', got %q", link.Name)
		}
		if slices.ContainsFunc(p.Links[:i], func(l ProvisionLink) bool { return l.Name == link.Name }) {
			return fault.Wrong(at+"name", "%q is there twice", link.Name)
		}
		if _, _, err := splitEndpoint(link.Endpoint); err != nil {
			return fault.Wrong(at+"endpoint", "%v", err)
		}
		if link.PSK == "" {
			psk[link.Name] = multilink.Key{}
			continue
		}
		key, err := multilink.ParseKey(link.PSK)
		if err != nil {
			return fault.Wrong(at+"psk", "must be 32 bytes in base64")
		}
		psk[link.Name] = key
	}
	return nil
}

// parsePublic reads a public key.
func parsePublic(field, text string) (multilink.Key, error) {
	key, err := multilink.ParseKey(text)
	if err != nil || key.IsZero() {
		return multilink.Key{}, fault.Wrong(field, "must be a public key: 32 bytes in base64, 44 characters")
	}
	return key, nil
}

// newPrivateKey creates a Curve25519 key, clamped as RFC 7748 section 5 has it.
func newPrivateKey() multilink.Key {
	var key multilink.Key
	_, _ = rand.Read(key[:]) // it never fails
	key[0] &= 248
	key[31] = key[31]&127 | 64
	return key
}
