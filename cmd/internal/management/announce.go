package management

import (
	"fmt"
	"io"
	"path/filepath"
)

// Announce says where people sign in, as whom, and which file has what was generated. What
// this start has generated is printed to stdout, and never logged. at is the address of the
// page where they sign in.
func (m *Management) Announce(stdout io.Writer, at string) {
	file, stored := filepath.Join(m.config.Dir, CredentialsFile), "stored in "
	if m.config.Dir == "" {
		file, stored = "memory", "valid until the server ends, in "
	}
	for _, secret := range []struct{ text, what string }{
		{m.Fresh.DemoPassword, "password of demouser, demodeveloper and demoopencaller"},
		{m.Fresh.DemoAdminPassword, "password of demoadmin"},
		{m.Fresh.ClientSecret, "secret of the clients private-backend and kong"},
		{m.Fresh.AdminToken, "token of the admin API, which it demands beyond loopback"},
	} {
		if secret.text != "" {
			fmt.Fprintf(stdout, "new %s, %s%s: %s\n", secret.what, stored, file, secret.text)
		}
	}
	if m.provider == nil {
		fmt.Fprintf(stdout, "\nSign in at %s with a user of %s.\n", at, m.Issuer)
		m.config.Logger.Info("people sign in", "at", at, "issuer", m.Issuer)
		return
	}
	where := "is demo_password in " + file
	if m.config.Given.DemoPassword != "" {
		where = "is the one given by -demo-password or APIMANAGER_DEMO_PASSWORD"
	}
	fmt.Fprintf(stdout, "\nSign in at %s as demodeveloper or demoopencaller. The password %s.\n", at, where)
	fmt.Fprintf(stdout, "Or as demoadmin, who may do everything. The password is demo_admin_password in %s.\n", file)
	m.config.Logger.Info("people sign in", "at", at, "users", "demodeveloper, demoopencaller, demoadmin", "passwords", file)
}
