package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/cmd/internal/door"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `apimanager is API management as a server: people publish OpenAPI definitions in
its portal or over its REST interface, and a gateway serves and secures what they
define. It needs nothing to be set up. Its identity provider is for development;
-idp names a real one.`

// settings are the values of flags, environment and file.
type settings struct {
	connections              *server.Connections
	listen, gateway, admin   string
	portalURL, gatewayURL    string
	stores                   *stores.Settings
	provider, discovery      string
	realm, clients           string
	demoPassword             string
	demoAdminPassword        string
	clientSecret, adminToken string
	private                  *bool // nil if it is not set
	hosts, securityPlugin    string
	kong, kongToken          string
	gatewayOnly              bool
	controlPlane             string
	controlToken, controlCA  string
	door                     *door.Settings
}

// readSettings reads and checks the settings. The flags are returned for -h.
func readSettings(args []string) (settings, *server.Flags, error) {
	var s settings
	f := server.NewFlags("apimanager", "APIMANAGER", about)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8999",
		"`HOST:PORT` of the portal, the publisher and the identity provider; port 0 takes any that is free")
	f.StringVar(&s.gateway, "gateway-listen", "127.0.0.1:8100", "`HOST:PORT` of the gateway; port 0 takes any that is free")
	f.StringVar(&s.admin, "admin-listen", "127.0.0.1:8101", "`HOST:PORT` of the gateway's admin API and page; port 0 takes any that is free")
	f.StringVar(&s.portalURL, "portal-url", "",
		"`URL` of the portal as browsers know it, such as https://apis.example.org; empty means that of -listen")
	f.StringVar(&s.gatewayURL, "gateway-url", "", "`URL` of the gateway as callers know it; empty means that of -gateway-listen")
	s.stores = stores.Declare(f, stores.Texts{
		Data: "./data/apimanager", Note: " Several servers on one database need the same -portal-url and -gateway-url.",
	})
	f.StringVar(&s.provider, "idp", "",
		"`URL` of a Keycloak where people sign in, ending in /auth/, or in / for newer ones; empty means the one inside, for development")
	f.StringVar(&s.discovery, "idp-discovery", "",
		"`URL` of its discovery document, if this process reaches it by another address than browsers")
	f.StringVar(&s.realm, "realm", "OpenAPI", "`name` of the realm")
	f.StringVar(&s.clients, "clients", "private-backend,public-frontend,public-backend-access",
		"`names` of the clients whose tokens the publisher takes, with commas between")
	f.StringVar(&s.demoPassword, "demo-password", "",
		"`password` of the three users of the demonstration; better given by the environment, since others can see flags")
	f.StringVar(&s.demoAdminPassword, "demo-admin-password", "",
		"`password` of demoadmin, who may do everything; better given by the environment")
	f.StringVar(&s.clientSecret, "client-secret", "",
		"`secret` of the clients private-backend and kong of the identity provider inside, or of the gateway's client at that of "+
			"-idp; definitions refer to it as {vault://env/apimanager-client-secret}; better given by the environment")
	f.StringVar(&s.adminToken, "admin-token", "",
		"`token` that the admin API requires; better given by the environment. Empty means none on loopback, and a generated one elsewhere")
	private := f.Bool("private-upstreams", false,
		"let definitions name this machine and private networks; the default is true while portal and gateway listen on loopback alone")
	f.StringVar(&s.hosts, "upstream-hosts", "",
		"`hosts` that definitions may name, with commas between, such as api.example.org or *.example.org; empty means any")
	f.StringVar(&s.securityPlugin, "security-plugin", "",
		"`plugin` that the security requirements of definitions become: oidc, for a scheme of the type "+
			"openIdConnect, or openid-connect, which some Kongs have; empty leaves them to the services")
	f.StringVar(&s.kong, "kong", "",
		"`URL` of the Admin API of a Kong that takes the place of the gateway inside; goes with -gateway-url, the "+
			"address of its proxy. To try APIs in the portal, have a plugin cors there allow the portal's origin")
	f.StringVar(&s.kongToken, "kong-token", "", "`token` for that Admin API; better given by the environment")
	f.BoolVar(&s.gatewayOnly, "gateway-only", false,
		"run a gateway alone, which follows the manager of -control-plane and serves on without it; "+
			"-admin-listen then has health and metrics alone")
	f.StringVar(&s.controlPlane, "control-plane", "", "`URL` of the admin API of the manager that -gateway-only follows")
	f.StringVar(&s.controlToken, "control-plane-token", "",
		"`token` with the role admin there: its -admin-token, or one of its -access-tokens; better given by the environment")
	f.StringVar(&s.controlCA, "control-plane-ca", "", "`file` of the certificates that verify its certificate; empty means the system's")
	s.connections = f.Connections()
	s.door = door.Declare(f)
	f.Logging("log/apimanager.log")
	f.AccessLog()
	f.Lifecycle()
	if err := f.Parse(args); err != nil {
		return s, f, err
	}
	if f.Given("private-upstreams") {
		s.private = private
	}
	return s, f, s.check(f)
}

// check refuses what cannot work, in the order of the flags.
func (s *settings) check(f *server.Flags) error {
	var errs []error
	for _, one := range []struct {
		name, value string
		path        bool
	}{{"portal-url", s.portalURL, false}, {"gateway-url", s.gatewayURL, true}, {"idp", s.provider, true},
		{"idp-discovery", s.discovery, true}, {"kong", s.kong, true}, {"control-plane", s.controlPlane, true}} {
		if one.value == "" {
			continue
		}
		at, err := url.Parse(one.value)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil ||
			at.RawQuery != "" || at.Fragment != "" ||
			!one.path && strings.Trim(at.Path, "/") != "" {
			errs = append(errs,
				fmt.Errorf("-%s (%s): expected a URL such as http://HOST:PORT (not shown, for it may hold a secret)", one.name, f.Variable(one.name)))
		}
	}
	if s.discovery != "" && s.provider == "" {
		errs = append(errs, fmt.Errorf("-idp-discovery (%s): it goes with -idp", f.Variable("idp-discovery")))
	}
	if s.kong != "" && s.gatewayURL == "" {
		errs = append(errs, fmt.Errorf("-kong (%s): it goes with -gateway-url, where Kong serves", f.Variable("kong")))
	}
	for _, name := range []string{"access-log", "access-log-file"} {
		if s.kong != "" && f.Given(name) {
			errs = append(errs, fmt.Errorf("-%s (%s): it does not go with -kong, which has logs of its own", name, f.Variable(name)))
		}
	}
	switch {
	case s.gatewayOnly && s.controlPlane == "":
		errs = append(errs, fmt.Errorf("-gateway-only (%s): it goes with -control-plane, the manager to follow", f.Variable("gateway-only")))
	case !s.gatewayOnly && s.controlPlane+s.controlToken+s.controlCA != "":
		errs = append(errs, fmt.Errorf("-control-plane (%s): it goes with -gateway-only", f.Variable("control-plane")))
	case s.gatewayOnly:
		for _, name := range []string{"store", "blobs", "kong", "kong-token", "gateway-url",
			"demo-password", "demo-admin-password", "admin-token", "upstream-hosts", "security-plugin"} {
			if f.Lookup(name).Value.String() != "" {
				errs = append(errs, fmt.Errorf("-%s (%s): it does not go with -gateway-only; it is the manager's", name, f.Variable(name)))
			}
		}
		for _, one := range []struct{ name, value, with, other string }{
			{"idp", s.provider, "client-secret", s.clientSecret}, {"client-secret", s.clientSecret, "idp", s.provider},
		} {
			if one.value != "" && one.other == "" {
				errs = append(errs, fmt.Errorf("-%s (%s): with -gateway-only it goes with -%s", one.name, f.Variable(one.name), one.with))
			}
		}
	}
	if p := s.securityPlugin; p != "" && p != definition.OIDCPlugin && p != definition.OpenIDConnectPlugin {
		errs = append(errs, fmt.Errorf("-security-plugin (%s): expected %s, %s or nothing, got %q",
			f.Variable("security-plugin"), definition.OIDCPlugin, definition.OpenIDConnectPlugin, p))
	}
	for name, value := range map[string]string{"demo-password": s.demoPassword, "demo-admin-password": s.demoAdminPassword,
		"client-secret": s.clientSecret, "admin-token": s.adminToken} {
		if value != "" && len(value) < 8 {
			errs = append(errs, fmt.Errorf("-%s (%s): expected 8 characters or more", name, f.Variable(name)))
		}
	}
	return errors.Join(append(errs, s.stores.Check(), s.door.Check())...)
}
