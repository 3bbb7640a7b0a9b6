package management

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
)

// announce says where people sign in, as whom, and where the secrets are that this start has
// generated. It prints none of them, since stdout may be a log, unless they are in memory alone.
func (m *Management) announce(stdout io.Writer) {
	at := cmp.Or(m.SignIn, m.PortalURL+"/")
	file := filepath.Join(m.env.Stores.Dir, CredentialsFile)
	if m.env.Stores.Dir == "" {
		file = "memory"
	}
	for _, secret := range []struct{ text, member, what string }{
		{m.Fresh.DemoPassword, "demo_password", "password of demouser, demodeveloper and demoopencaller"},
		{m.Fresh.DemoAdminPassword, "demo_admin_password", "password of demoadmin"},
		{m.Fresh.ClientSecret, "client_secret", "secret of the clients private-backend and kong"},
		{m.Fresh.AdminToken, "admin_token", "token of the admin API, which it demands beyond loopback"},
	} {
		switch {
		case secret.text == "":
		case m.env.Stores.Dir == "":
			fmt.Fprintf(stdout, "new %s, valid until the server ends: %s\n", secret.what, secret.text)
		default:
			fmt.Fprintf(stdout, "new %s: %s in %s\n", secret.what, secret.member, file)
		}
	}
	if m.provider == nil {
		fmt.Fprintf(stdout, "\nSign in at %s with a user of %s.\n", at, m.Issuer)
		m.log.Info("people sign in", "at", at, "issuer", m.Issuer)
		return
	}
	where := func(given, member, flag string) string {
		if given != "" {
			return "is the one given by " + flag
		}
		return "is " + member + " in " + file
	}
	fmt.Fprintf(stdout, "\nSign in at %s as demodeveloper or demoopencaller. The password %s.\n", at,
		where(m.Secrets.DemoPassword, "demo_password", "-demo-password or APIMANAGER_DEMO_PASSWORD"))
	fmt.Fprintf(stdout, "Or as demoadmin, who may do everything. The password %s.\n",
		where(m.Secrets.DemoAdminPassword, "demo_admin_password", "-demo-admin-password or APIMANAGER_DEMO_ADMIN_PASSWORD"))
	m.log.Info("people sign in", "at", at, "users", "demodeveloper, demoopencaller, demoadmin", "passwords", file)
}
