package management

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/internal/secretfile"
)

// Credentials are the secrets of an installation.
type Credentials struct {
	// DemoPassword is that of the three users of the demonstration.
	DemoPassword string `json:"demo_password"`
	// ClientSecret is that of the clients private-backend and kong.
	ClientSecret string `json:"client_secret"`
	// AdminToken is what the admin API wants to be shown beyond loopback.
	AdminToken string `json:"admin_token"`
}

// CredentialsFile is the name of the file with what was generated.
const CredentialsFile = "credentials.json"

// readCredentials returns what is kept in a folder, and generates it if there is
// nothing: fresh says so. The file is whole or not there, also after a crash.
func readCredentials(dir string) (c Credentials, fresh bool, err error) {
	name := filepath.Join(dir, CredentialsFile)
	data, err := os.ReadFile(name)
	if err == nil {
		if err := json.Unmarshal(data, &c); err != nil || c.DemoPassword == "" || c.ClientSecret == "" || c.AdminToken == "" {
			return c, false, fmt.Errorf("read %q: it is no file with three secrets (its content is not shown)", name)
		}
		return c, false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return c, false, err
	}
	c = Credentials{DemoPassword: rand.Text(), ClientSecret: rand.Text(), AdminToken: rand.Text()}
	if data, err = json.MarshalIndent(c, "", "  "); err != nil {
		return c, false, err
	}
	return c, true, secretfile.Write(name, append(data, '\n'))
}

// over returns the credentials with those that were given in their places.
func (c Credentials) over(given Credentials) Credentials {
	return Credentials{
		DemoPassword: cmp.Or(given.DemoPassword, c.DemoPassword),
		ClientSecret: cmp.Or(given.ClientSecret, c.ClientSecret),
		AdminToken:   cmp.Or(given.AdminToken, c.AdminToken),
	}
}
