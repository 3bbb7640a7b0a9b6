package management

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/internal/secretfile"
)

// Credentials are the secrets of an installation. An empty member means none.
type Credentials struct {
	// DemoPassword is that of the three users of the demonstration that are no
	// administrators.
	DemoPassword string `json:"demo_password,omitempty"`
	// DemoAdminPassword is that of its administrator.
	DemoAdminPassword string `json:"demo_admin_password,omitempty"`
	// ClientSecret is that of the clients private-backend and kong.
	ClientSecret string `json:"client_secret,omitempty"`
	// AdminToken is the token that the admin API requires beyond loopback.
	AdminToken string `json:"admin_token,omitempty"`
}

// CredentialsFile is the name of the file with the secrets that were generated. A
// secret that was given instead is not in it.
const CredentialsFile = "credentials.json"

// demands says which secrets an installation uses.
type demands struct {
	provider bool // the identity provider inside: the password and the secret of clients
	gateway  bool // the gateway inside: the token of its admin API
}

// readCredentials returns the secrets in use: each is the given one, else the one in the
// file of the folder. A secret that is in neither place and in use is generated, stored in
// the file, and also returned in fresh. A given secret is removed from the file, which
// would otherwise hold one that is not in use. The file is complete or missing, also after
// a crash.
func readCredentials(dir string, given Credentials, needed demands) (inUse, fresh Credentials, err error) {
	name := filepath.Join(dir, CredentialsFile)
	var kept Credentials
	var unknown keep.Members
	data, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return inUse, fresh, err
	default:
		if unknown, err = keep.Unmarshal(data, &kept); err != nil {
			return inUse, fresh, fmt.Errorf("read %q: it is not a JSON object of secrets (its content is not shown); "+
				"restore it, or move it away to have new secrets generated", name)
		}
	}
	found := kept
	for _, secret := range []struct {
		inUse, fresh, kept, given *string
		needed                    bool
	}{
		{&inUse.DemoPassword, &fresh.DemoPassword, &kept.DemoPassword, &given.DemoPassword, needed.provider},
		{&inUse.DemoAdminPassword, &fresh.DemoAdminPassword, &kept.DemoAdminPassword, &given.DemoAdminPassword, needed.provider},
		{&inUse.ClientSecret, &fresh.ClientSecret, &kept.ClientSecret, &given.ClientSecret, needed.provider},
		{&inUse.AdminToken, &fresh.AdminToken, &kept.AdminToken, &given.AdminToken, needed.gateway},
	} {
		switch {
		case *secret.given != "":
			*secret.inUse = *secret.given
			if *secret.kept != *secret.given {
				*secret.kept = ""
			}
		case *secret.kept != "":
			*secret.inUse = *secret.kept
		case secret.needed:
			*secret.kept = rand.Text()
			*secret.inUse, *secret.fresh = *secret.kept, *secret.kept
		}
	}
	if kept == found {
		return inUse, fresh, nil
	}
	if data, err = unknown.Marshal(kept); err != nil {
		return inUse, fresh, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return inUse, fresh, err
	}
	text.WriteByte('\n')
	return inUse, fresh, secretfile.Write(name, text.Bytes())
}
