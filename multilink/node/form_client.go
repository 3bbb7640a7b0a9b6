package node

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
	"github.com/iotenablers/enablers/multilink/settings"
)

// client is a client of a server, as it is stored. It is never changed.
type client struct {
	Version   int            `json:"version"`
	Name      string         `json:"name"`
	PublicKey string         `json:"public_key"`
	Secret    []byte         `json:"secret"` // its preshared keys are derived from it
	Enabled   bool           `json:"enabled"`
	Addresses []netip.Prefix `json:"addresses"`

	key     multilink.Key // PublicKey, parsed
	unknown keep.Members
}

// psk is the preshared key of a client on a link: RFC 5869's key derivation, of the
// client's secret and the link's name, so that a link that is added later has one too.
func (c *client) psk(link string) (multilink.Key, error) {
	key, err := hkdf.Key(sha256.New, c.Secret, nil, "multilink preshared key of link "+link, 32)
	if err != nil {
		return multilink.Key{}, fmt.Errorf("derive preshared key of client %q for link %q: %w", c.Name, link, err)
	}
	return multilink.Key(key), nil
}

// clientKey is the document of the client with that public key.
func clientKey(key multilink.Key) string { return clientPrefix + hex.EncodeToString(key[:]) }

// clientForm is the request for a client.
type clientForm struct {
	Name      string   `json:"name"`
	PublicKey *string  `json:"public_key"`
	Addresses []string `json:"addresses"`
}

// keyForm names a client.
type keyForm struct {
	PublicKey string `json:"public_key"`
}

// provision is what a client needs to attach: the answer to the request for it.
type provision struct {
	Name            string          `json:"name"`
	PublicKey       string          `json:"public_key"`
	PrivateKey      string          `json:"private_key,omitempty"`
	ServerPublicKey string          `json:"server_public_key" keep:"key"`
	Addresses       []netip.Prefix  `json:"addresses"`
	Links           []provisionLink `json:"links"`
	Server          string          `json:"server,omitempty"` // in a request to attach
}

type provisionLink struct {
	Name     string `json:"name" keep:"key"`
	Endpoint string `json:"endpoint"`
	PSK      string `json:"psk,omitempty"`
}

// attachment is what a client stores of its server.
type attachment struct {
	provision
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
func (p *provision) check(own multilink.Key) (attachmentKeys, error) {
	k := attachmentKeys{private: own, psk: map[string]multilink.Key{}}
	var err error
	if p.PrivateKey != "" {
		if k.private, err = multilink.ParseKey(p.PrivateKey); err != nil || k.private.IsZero() {
			return k, wrong("private_key", "want 32 bytes in base64")
		}
	}
	public, err := k.private.PublicKey()
	if err != nil {
		return k, wrong("private_key", "it is no Curve25519 key")
	}
	given, err := parsePublic("public_key", p.PublicKey)
	switch {
	case err != nil:
		return k, err
	case given != public && p.PrivateKey != "":
		return k, wrong("public_key", "it is not that of private_key")
	case given != public:
		return k, wrong("public_key", "it is not that of this instance, which is %s, and private_key is not given", public.Base64())
	}
	if k.server, err = parsePublic("server_public_key", p.ServerPublicKey); err != nil {
		return k, err
	}
	if k.server == public {
		return k, wrong("server_public_key", "it is the client's own")
	}
	if !settings.ValidName(p.Name) {
		return k, wrong("name", "want 1 to 32 letters, digits, '.', '-' or '_', got %q", p.Name)
	}
	at, err := url.Parse(p.Server)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
		return k, wrong("server", "want the URL of the server, such as https://192.0.2.1:3333, without a password")
	}
	if len(p.Addresses) > maxAddresses {
		return k, wrong("addresses", "want %d at most, got %d", maxAddresses, len(p.Addresses))
	}
	for i, address := range p.Addresses {
		if !address.IsValid() || !hostIn(address) {
			return k, wrong(fmt.Sprintf("addresses[%d]", i),
				"want the address of a host and the length of its network's prefix, such as 10.9.0.2/24")
		}
	}
	return k, p.checkLinks(k.psk)
}

func (p *provision) checkLinks(psk map[string]multilink.Key) error {
	if len(p.Links) == 0 || len(p.Links) > MaxLinks {
		return wrong("links", "want 1 to %d, got %d", MaxLinks, len(p.Links))
	}
	for i, link := range p.Links {
		at := fmt.Sprintf("links[%d].", i)
		if !settings.ValidName(link.Name) {
			return wrong(at+"name", "want 1 to 32 letters, digits, '.', '-' or '_', got %q", link.Name)
		}
		if slices.ContainsFunc(p.Links[:i], func(l provisionLink) bool { return l.Name == link.Name }) {
			return wrong(at+"name", "%q is there twice", link.Name)
		}
		if _, _, err := splitEndpoint(link.Endpoint); err != nil {
			return wrong(at+"endpoint", "%v", err)
		}
		if link.PSK == "" {
			psk[link.Name] = multilink.Key{}
			continue
		}
		key, err := multilink.ParseKey(link.PSK)
		if err != nil {
			return wrong(at+"psk", "want 32 bytes in base64")
		}
		psk[link.Name] = key
	}
	return nil
}

// parsePublic reads a public key.
func parsePublic(field, text string) (multilink.Key, error) {
	key, err := multilink.ParseKey(text)
	if err != nil || key.IsZero() {
		return multilink.Key{}, wrong(field, "want a public key: 32 bytes in base64, 44 characters")
	}
	return key, nil
}

// newPrivateKey makes a Curve25519 key, clamped as RFC 7748 section 5 has it.
func newPrivateKey() multilink.Key {
	var key multilink.Key
	_, _ = rand.Read(key[:]) // it never fails
	key[0] &= 248
	key[31] = key[31]&127 | 64
	return key
}
