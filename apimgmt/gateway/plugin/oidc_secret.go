package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/oidc"
)

// ClientSecret is the secret of the gateway's client at an identity provider. Configurations of the
// plugin oidc refer to it in client_secret as a Kong's configurations refer to an environment variable:
// {vault://env/apimanager-client-secret} is the variable APIMANAGER_CLIENT_SECRET. The configuration keeps
// the reference, so that it stays as it is when the secret is changed at the provider.
//
// Authors of configurations need not know the secret. So it is sent to its provider alone, over verified
// connections.
type ClientSecret struct {
	// Variable is the name in references, in capital letters. The environment is not read.
	Variable string
	// Secret is the secret. Empty means that this gateway does not have it.
	Secret string
	// Issuers are the addresses of the provider: that of the issuer, and others by which the gateway reaches
	// it, without "/.well-known/openid-configuration". The secret is sent to introspection endpoints below them, and
	// to the token endpoint that the discovery document of one of them names.
	Issuers []string
}

// isReference reports whether a text refers to a secret as a Kong's configuration does.
func isReference(secret text) bool {
	return strings.HasPrefix(string(secret), "{vault://") && strings.HasSuffix(string(secret), "}")
}

// resolve replaces a reference in client_secret by the secret, if that is used. An error names the field.
func (c *oidcConfig) resolve(known []ClientSecret) error {
	if !isReference(c.ClientSecret) {
		return nil
	}
	reference := string(c.ClientSecret)
	c.ClientSecret, c.referred = "", true
	if bool(c.BearerOnly) && c.IntrospectionEndpoint == "" {
		return nil
	}
	name, isVariable := strings.CutPrefix(strings.TrimSuffix(reference, "}"), "{vault://env/")
	variable := strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	i := slices.IndexFunc(known, func(s ClientSecret) bool { return isVariable && s.Variable == variable && s.Secret != "" })
	switch {
	case i < 0:
		return fmt.Errorf("config.client_secret: this gateway has no secret for the reference %s", reference)
	case !bool(c.SSLVerify):
		return errors.New("config.ssl_verify: is required to be yes where client_secret is a reference")
	}
	for _, one := range []struct {
		field, address string
		below          bool
	}{
		{"discovery", strings.TrimSuffix(string(c.Discovery), oidc.WellKnown), false},
		{"issuer", string(c.Issuer), false}, {"introspection_endpoint", string(c.IntrospectionEndpoint), true},
	} {
		if one.address != "" && !known[i].isFor(one.address, one.below) {
			return fmt.Errorf("config.%s: %s is sent to the provider %s alone; for another one give its secret itself",
				one.field, reference, strings.Join(known[i].Issuers, " and "))
		}
	}
	c.ClientSecret = text(known[i].Secret)
	return nil
}

// isFor reports whether an address is the provider's, or below that.
func (s ClientSecret) isFor(address string, below bool) bool {
	return slices.ContainsFunc(s.Issuers, func(issuer string) bool {
		rest, ok := strings.CutPrefix(address, strings.TrimSuffix(issuer, "/"))
		return ok && (rest == "" || rest == "/" || (below && unambiguous(rest)))
	})
}
