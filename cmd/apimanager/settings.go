package main

import (
	"net/url"
	"strings"

	"github.com/iotenablers/enablers/apimgmt/definition"
	"github.com/iotenablers/enablers/cmd/internal/host"
	"github.com/iotenablers/enablers/cmd/internal/management"
	"github.com/iotenablers/enablers/cmd/internal/stores"
	"github.com/iotenablers/enablers/cmd/internal/stores/drivers"
	"github.com/iotenablers/enablers/internal/server"
)

const about = `apimanager is API management as a server: people publish OpenAPI definitions in
its portal or over its REST interface, and a gateway serves and secures what they
define. It needs nothing to be set up. Its identity provider is for development;
-idp names a real one.`

// settings are the values of flags, environment and file.
type settings struct {
	*host.Flags
	management.Management
	gatewayOnly bool
	plane       management.DataPlane // with gatewayOnly
}

// readSettings reads and checks the settings. They are returned for -h in any case.
func readSettings(args []string) (*settings, error) {
	f := host.NewFlags("apimanager", "APIMANAGER", about)
	s := &settings{Flags: f}
	s.Portal = &host.Listener{Flag: "listen", Name: "portal"}
	s.Gateway = &host.Listener{Flag: "gateway-listen", Name: "gateway", Unguarded: true, Silent: true}
	s.Admin = &host.Listener{Flag: "admin-listen", Name: "admin"}
	f.StringVar(&s.Portal.Address, "listen", "127.0.0.1:8999",
		"`HOST:PORT` of the portal, the publisher and the identity provider; port 0 takes any that is free")
	f.StringVar(&s.Gateway.Address, "gateway-listen", "127.0.0.1:8100", "`HOST:PORT` of the gateway; port 0 takes any that is free")
	f.StringVar(&s.Admin.Address, "admin-listen", "127.0.0.1:8101",
		"`HOST:PORT` of the gateway's admin API and page; port 0 takes any that is free")
	f.StringVar(&s.PortalURL, "portal-url", "",
		"`URL` of the portal as browsers know it, such as https://apis.example.org; empty means that of -listen")
	f.StringVar(&s.GatewayURL, "gateway-url", "", "`URL` of the gateway as callers know it; empty means that of -gateway-listen")
	f.DeclareStores(stores.Texts{
		Data: "./data/apimanager", Note: " Several servers on one database need the same -portal-url and -gateway-url.",
	}, drivers.All()...)
	f.StringVar(&s.Provider, "idp", "",
		"`URL` of a Keycloak where people sign in, ending in /auth/, or in / for newer ones; empty means the one inside, for development")
	f.StringVar(&s.Discovery, "idp-discovery", "",
		"`URL` of its discovery document, if this process reaches it by another address than browsers")
	f.StringVar(&s.Realm, "realm", "OpenAPI", "`name` of the realm")
	clients := f.String("clients", "private-backend,public-frontend,public-backend-access",
		"`names` of the clients whose tokens the publisher takes, separated by commas")
	f.StringVar(&s.Secrets.DemoPassword, "demo-password", "",
		"`password` of the three users of the demonstration; better given by the environment, since others can see flags")
	f.StringVar(&s.Secrets.DemoAdminPassword, "demo-admin-password", "",
		"`password` of demoadmin, who may do everything; better given by the environment")
	f.StringVar(&s.Secrets.ClientSecret, "client-secret", "",
		"`secret` of the clients private-backend and kong of the identity provider inside, or of the gateway's client at that of "+
			"-idp; definitions refer to it as {vault://env/apimanager-client-secret}; better given by the environment")
	f.StringVar(&s.Secrets.AdminToken, "admin-token", "",
		"`token` that the admin API requires; better given by the environment. Empty means none on loopback, and a generated one elsewhere")
	private := f.Bool("private-upstreams", false,
		"let definitions name this machine and private networks; the default is true while portal and gateway listen on loopback alone")
	hosts := f.String("upstream-hosts", "",
		"`hosts` that definitions may name, separated by commas, such as api.example.org or *.example.org; empty means any")
	f.StringVar(&s.SecurityPlugin, "security-plugin", "",
		"`plugin` that the security requirements of definitions become: oidc, for a scheme of the type "+
			"openIdConnect, or openid-connect, which some Kongs have; empty leaves them to the services")
	f.StringVar(&s.Kong.URL, "kong", "",
		"`URL` of the Admin API of a Kong that replaces the gateway inside; requires -gateway-url, the "+
			"address of its proxy. To try APIs in the portal, have a plugin cors there allow the portal's origin")
	f.StringVar(&s.Kong.Token, "kong-token", "", "`token` for that Admin API; better given by the environment")
	f.BoolVar(&s.gatewayOnly, "gateway-only", false,
		"run a gateway alone, which follows the manager of -control-plane and serves on without it; "+
			"-admin-listen then has health and metrics alone")
	f.StringVar(&s.plane.ControlPlane, "control-plane", "", "`URL` of the admin API of the manager that -gateway-only follows")
	f.StringVar(&s.plane.Token, "control-plane-token", "",
		"`token` with the role admin there: its -admin-token, or one of its -access-tokens; better given by the environment")
	f.StringVar(&s.plane.Authorities, "control-plane-ca", "",
		"`file` of the certificates that verify its certificate; empty means the system's")
	f.AccessLog()
	return s, f.Read(args, func() {
		s.Clients, s.UpstreamHosts = server.Names(*clients), server.Names(*hosts)
		if f.Given("private-upstreams") {
			s.PrivateUpstreams = private
		}
		s.Portal.Absent = s.gatewayOnly
		s.Gateway.Absent = s.Kong.URL != ""
		s.Admin.Absent = s.Kong.URL != ""
		s.check()
	})
}

// check refuses what cannot work, in the order of the flags.
func (s *settings) check() {
	for _, one := range []struct {
		name, value string
		path        bool
	}{{"portal-url", s.PortalURL, false}, {"gateway-url", s.GatewayURL, true}, {"idp", s.Provider, true},
		{"idp-discovery", s.Discovery, true}, {"kong", s.Kong.URL, true}, {"control-plane", s.plane.ControlPlane, true}} {
		if one.value == "" {
			continue
		}
		at, err := url.Parse(one.value)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil ||
			at.RawQuery != "" || at.Fragment != "" ||
			!one.path && strings.Trim(at.Path, "/") != "" {
			s.Wrong(one.name, "expected a URL such as http://HOST:PORT (not shown, for it may hold a secret)")
		}
	}
	if s.Discovery != "" && s.Provider == "" {
		s.Wrong("idp-discovery", "requires -idp")
	}
	if s.Kong.URL != "" && s.GatewayURL == "" {
		s.Wrong("kong", "requires -gateway-url, where Kong serves")
	}
	for _, name := range []string{"access-log", "access-log-file"} {
		if s.Kong.URL != "" && s.Given(name) {
			s.Wrong(name, "cannot be given together with -kong, which has its own logs")
		}
	}
	switch {
	case s.gatewayOnly && s.plane.ControlPlane == "":
		s.Wrong("gateway-only", "requires -control-plane, the manager to follow")
	case !s.gatewayOnly && s.plane.ControlPlane+s.plane.Token+s.plane.Authorities != "":
		s.Wrong("control-plane", "requires -gateway-only")
	case s.gatewayOnly:
		for _, name := range []string{"store", "blobs", "kong", "kong-token", "gateway-url",
			"demo-password", "demo-admin-password", "admin-token", "upstream-hosts", "security-plugin"} {
			if s.Lookup(name).Value.String() != "" {
				s.Wrong(name, "cannot be given together with -gateway-only; it is a setting of the manager")
			}
		}
		for _, one := range []struct{ name, value, with, other string }{
			{"idp", s.Provider, "client-secret", s.Secrets.ClientSecret}, {"client-secret", s.Secrets.ClientSecret, "idp", s.Provider},
		} {
			if one.value != "" && one.other == "" {
				s.Wrong(one.name, "with -gateway-only requires -%s", one.with)
			}
		}
	}
	if p := s.SecurityPlugin; p != "" && p != definition.OIDCPlugin && p != definition.OpenIDConnectPlugin {
		s.Wrong("security-plugin", "expected %s, %s or nothing, got %q", definition.OIDCPlugin, definition.OpenIDConnectPlugin, p)
	}
	for name, value := range map[string]string{"demo-password": s.Secrets.DemoPassword, "demo-admin-password": s.Secrets.DemoAdminPassword,
		"client-secret": s.Secrets.ClientSecret, "admin-token": s.Secrets.AdminToken} {
		if value != "" && len(value) < 8 {
			s.Wrong(name, "expected 8 characters or more")
		}
	}
}
