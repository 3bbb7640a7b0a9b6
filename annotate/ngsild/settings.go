package ngsild

import (
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/iotenablers/enablers/annotate"
	"github.com/iotenablers/enablers/annotate/internal/endpoint"
)

// Type is the kind of broker, as the REST interface names it.
const Type annotate.BrokerType = "NGSI-LD"

// The modes of Settings.
const (
	// Update keeps the attributes of an entity that a message does not have. If a message has
	// fewer values of an attribute than the one before, it keeps the values beyond those as well.
	Update = "update"
	// Replace leaves an entity with the attributes of the message only.
	Replace = "replace"
)

// Settings are a connection to a broker, as annotate.Topic has them. Encoded as JSON, printed
// or logged they show that there are credentials but not what they are.
type Settings struct {
	// URL is the address of the broker, http or https, without /ngsi-ld/v1; required. It has
	// no user, no query and no fragment.
	URL string `json:"url"`
	// Tenant is sent as NGSILD-Tenant; empty for none.
	Tenant string `json:"tenant,omitempty"`
	// Context is the address of an @context, which is sent in the header Link; empty for the
	// core @context. The names of entities are full IRIs with any.
	Context string `json:"context,omitempty"`
	// Mode is Update or Replace. Empty means Update.
	Mode string `json:"mode,omitempty"`
	// User and Password are sent by HTTP's Basic scheme; empty for none.
	User     string `json:"user,omitempty"`
	Password string `json:"password,omitempty"`
	// Token is a bearer token, in place of User and Password; empty for none.
	Token string `json:"token,omitempty"`
}

// MarshalJSON encodes the settings with the credentials masked.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings
	s.User, s.Password, s.Token = annotate.Mask(s.User), annotate.Mask(s.Password), annotate.Mask(s.Token)
	return json.Marshal(plain(s))
}

// String returns the address and the tenant, without credentials.
func (s Settings) String() string {
	at, err := url.Parse(s.URL)
	if err != nil {
		return "an NGSI-LD broker with an invalid address"
	}
	at.User = nil
	at.RawQuery = ""
	at.Fragment = ""
	if s.Tenant != "" {
		return fmt.Sprintf("%s (tenant %s)", at, s.Tenant)
	}
	return at.String()
}

// GoString returns the address without credentials.
func (s Settings) GoString() string { return s.String() }

// Subscriber returns nothing: nothing is subscribed to.
func (s Settings) Subscriber() string { return "" }

// Secrets returns user, password and token.
func (s Settings) Secrets() []annotate.Secret {
	return []annotate.Secret{
		{Member: "user", Value: s.User}, {Member: "password", Value: s.Password}, {Member: "token", Value: s.Token},
	}
}

// WithSecrets returns the settings with other credentials.
func (s Settings) WithSecrets(secrets []annotate.Secret) annotate.Settings {
	annotate.AssignSecrets(secrets, map[string]*string{"user": &s.User, "password": &s.Password, "token": &s.Token})
	return s
}

// Destination returns the URL: each request below it has the credentials.
func (s Settings) Destination() string { return s.URL }

// endpoint returns the address and the credentials.
func (s Settings) endpoint() endpoint.Settings {
	return endpoint.Settings{URL: s.URL, User: s.User, Password: s.Password, Token: s.Token}
}
