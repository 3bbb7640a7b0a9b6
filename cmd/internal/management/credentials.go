package management

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/iotenablers/enablers/cmd/internal/sharedsecret"
	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/storage"
)

// Credentials are the secrets of an installation. An empty member means none.
type Credentials struct {
	// DemoPassword is that of the three users of the demonstration that are no
	// administrators.
	DemoPassword string `json:"demo_password,omitempty"`
	// DemoAdminPassword is that of its administrator.
	DemoAdminPassword string `json:"demo_admin_password,omitempty"`
	// ClientSecret is that of the clients private-backend and kong, or of the gateway's client at
	// another identity provider. Definitions refer to it.
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

// credentialsKey is the key of the document with the secrets where they are in the store.
const credentialsKey = "management/credentials"

// vault is where the secrets of an installation are.
type vault struct {
	documents storage.Documents
	dir       string // of the file; empty means none
	shared    bool   // instances with other folders have the same documents
	given     Credentials
	needed    demands
	log       *slog.Logger
}

// vault returns that of the manager.
func (m *Management) vault() vault {
	kept := m.env.Stores
	return vault{documents: kept.Documents, dir: kept.Dir, shared: kept.Shared, given: m.Secrets, log: m.log,
		needed: demands{provider: m.Provider == "", gateway: m.elsewhere == nil}}
}

// credentials returns the secrets in use, and those that this call has generated: out of the
// file of the folder, or out of the store.
func (v vault) credentials(ctx context.Context) (inUse, fresh Credentials, err error) {
	if !v.shared && v.dir != "" {
		return readCredentials(v.dir, v.given, v.needed)
	}
	name := filepath.Join(v.dir, CredentialsFile)
	var text []byte
	_, err = storage.Change(ctx, v.documents, credentialsKey, func(stored storage.Document) (next []byte, err error) {
		old := stored.Data
		found := old
		if old == nil && v.dir != "" { // a server that had a folder before keeps its secrets
			if found, err = os.ReadFile(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if inUse, fresh, next, err = chooseCredentials(found, v.given, v.needed); err != nil {
			return nil, fmt.Errorf("read %q of the store, or %q: %w", credentialsKey, name, err)
		}
		text = next
		if next == nil {
			text = found
		}
		if old == nil {
			next = text
		}
		return next, nil
	})
	if err == nil && v.dir != "" && text != nil {
		sharedsecret.Show(name, text, v.log)
	}
	return inUse, fresh, err
}

// readCredentials returns the secrets in use out of the file of a folder; see
// chooseCredentials. The file is complete or missing, also after a crash.
func readCredentials(dir string, given Credentials, needed demands) (inUse, fresh Credentials, err error) {
	name := filepath.Join(dir, CredentialsFile)
	data, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return inUse, fresh, err
	}
	inUse, fresh, next, err := chooseCredentials(data, given, needed)
	if err != nil {
		return inUse, fresh, fmt.Errorf("read %q: %w", name, err)
	}
	if next == nil {
		return inUse, fresh, nil
	}
	return inUse, fresh, secretfile.Write(name, next)
}

// chooseCredentials returns the secrets in use: each is the given one, else the kept one. A
// secret that is in neither place and in use is generated, and also returned in fresh. next
// is what is to be kept, nil if that does not change. A given secret is not kept: what is kept
// would otherwise have one that is not in use.
func chooseCredentials(data []byte, given Credentials, needed demands) (inUse, fresh Credentials, next []byte, err error) {
	var kept Credentials
	var unknown keep.Members
	if data != nil {
		if unknown, err = keep.Unmarshal(data, &kept); err != nil {
			return inUse, fresh, nil, errors.New("it is not a JSON object of secrets (its content is not shown); " +
				"restore it, or move it away to have new secrets generated")
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
		return inUse, fresh, nil, nil
	}
	if data, err = unknown.Marshal(kept); err != nil {
		return inUse, fresh, nil, err
	}
	var text bytes.Buffer
	if err := json.Indent(&text, data, "", "  "); err != nil {
		return inUse, fresh, nil, err
	}
	text.WriteByte('\n')
	return inUse, fresh, text.Bytes(), nil
}
