package devidp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/iotenablers/enablers/apimgmt/internal/password"
	"github.com/iotenablers/enablers/internal/keep"
	"github.com/iotenablers/enablers/storage"
)

const longestPassword = password.Longest

// Provider is an identity provider for development. It is created with [Open] and
// safe for concurrent use.
type Provider struct {
	config  Config
	issuer  string
	clients map[string]Client // with their secrets
	users   map[string]account
	issued  Credentials
	ring    *ring
	book    *book
	codes   *codes
	guard   *guard
	seed    maphash.Seed
	hasher  *password.Hasher
}

// Credentials are secrets that were generated.
type Credentials struct {
	// Passwords are those of users, by name.
	Passwords map[string]string
	// Secrets are those of clients, by their identifiers.
	Secrets map[string]string
}

// account is a user with its stored subject and hash.
type account struct {
	User
	Subject string
	Hash    string
}

// Open returns a Provider over what the documents hold, and writes what is
// missing: keys, secrets, subjects and hashes. It starts nothing; the clock moves
// everything on. The log gets a warning that this is for development.
func Open(ctx context.Context, c Config) (*Provider, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("open identity provider: %w", err)
	}
	p := &Provider{
		config: c, issuer: c.BaseURL + "/realms/" + c.Realm.Name, clients: make(map[string]Client), users: make(map[string]account),
		issued: Credentials{Passwords: make(map[string]string), Secrets: make(map[string]string)},
		guard:  newGuard(c.TokensPerSecond), hasher: password.New(), seed: maphash.MakeSeed(),
		codes: &codes{docs: c.Documents},
	}
	if err := p.load(ctx); err != nil {
		return nil, fmt.Errorf("open identity provider: %w", err)
	}
	c.Logger.LogAttrs(ctx, slog.LevelWarn, "the built-in identity provider is for development and demonstrations, NOT "+
		"for production", slog.String("issuer", p.issuer))
	return p, nil
}

func (p *Provider) load(ctx context.Context) error {
	var err error
	if p.ring, err = openRing(ctx, p.config.Documents); err != nil {
		return err
	}
	if p.book, err = openBook(ctx, p.config.Documents, p.config); err != nil {
		return err
	}
	for _, client := range p.config.Realm.Clients {
		if !client.Public && client.Secret == "" {
			if client.Secret, err = p.secretOf(ctx, client.ID); err != nil {
				return err
			}
		}
		p.clients[client.ID] = client
	}
	for _, user := range p.config.Realm.Users {
		if p.users[user.Name], err = p.accountOf(ctx, user); err != nil {
			return err
		}
	}
	return nil
}

// secretOf returns the secret of a client that is kept, or a new one.
func (p *Provider) secretOf(ctx context.Context, id string) (secret string, err error) {
	err = storage.Retry(ctx, func() (again bool, err error) {
		var kept struct {
			Secret string `json:"secret"`
		}
		old, err := p.read(ctx, "client/"+id, &kept)
		if secret = kept.Secret; err != nil || secret != "" {
			return false, err
		}
		secret = rand.Text()
		kept.Secret = secret
		if err = p.write(ctx, "client/"+id, old, kept); err == nil {
			p.issued.Secrets[id] = secret
		}
		return storage.Overtaken(err), err // another instance has created one
	})
	return secret, err
}

// accountOf returns what is kept of a user, made or changed as the realm says.
func (p *Provider) accountOf(ctx context.Context, user User) (made account, err error) {
	err = storage.Retry(ctx, func() (again bool, err error) {
		made, err = p.makeAccount(ctx, user)
		return storage.Overtaken(err), err
	})
	return made, err
}

// makeAccount is accountOf, and fails if another instance is quicker.
func (p *Provider) makeAccount(ctx context.Context, user User) (account, error) {
	var kept struct {
		Subject string `json:"subject"`
		Hash    string `json:"hash"`
	}
	key := "user/" + user.Name
	old, err := p.read(ctx, key, &kept)
	if err != nil {
		return account{}, err
	}
	found := old.Revision != 0
	password, generated := user.Password, false
	user.Password = ""
	switch {
	case password == "" && found:
		return account{User: user, Subject: kept.Subject, Hash: kept.Hash}, nil
	case password == "":
		password, generated = rand.Text(), true
	case len(password) > longestPassword:
		return account{}, fmt.Errorf("user %q: the password is longer than %d bytes", user.Name, longestPassword)
	case found:
		same, err := p.hasher.Matches(ctx, password, kept.Hash)
		if err != nil || same {
			return account{User: user, Subject: kept.Subject, Hash: kept.Hash}, err
		}
	}
	if !found {
		kept.Subject = uuid.NewString()
	}
	if kept.Hash, err = p.hasher.Hash(ctx, password); err != nil {
		return account{}, err
	}
	if err := p.write(ctx, key, old, kept); err != nil {
		return account{}, err
	}
	if generated {
		p.issued.Passwords[user.Name] = password
	}
	return account{User: user, Subject: kept.Subject, Hash: kept.Hash}, nil
}

// read reads a document. Without one its revision is zero.
func (p *Provider) read(ctx context.Context, key string, into any) (storage.Document, error) {
	document, err := p.config.Documents.Get(ctx, key)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Document{}, nil
	}
	if err != nil {
		return storage.Document{}, err
	}
	if err := json.Unmarshal(document.Data, into); err != nil {
		return storage.Document{}, fmt.Errorf("read %q: %w", key, err)
	}
	return document, nil
}

// write creates a document, or changes what was read of it. An error of lostRace means that
// another instance was quicker.
func (p *Provider) write(ctx context.Context, key string, old storage.Document, value any) error {
	data, err := keep.Find(old.Data, value).Marshal(value)
	if err != nil {
		return fmt.Errorf("write %q: %w", key, err)
	}
	if old.Revision == 0 {
		_, err = p.config.Documents.Create(ctx, key, data)
	} else {
		_, err = p.config.Documents.Update(ctx, key, old.Revision, data)
	}
	return err
}

// Issuer is the value of iss in tokens, and the address of the realm.
func (p *Provider) Issuer() string { return p.issuer }

// Issued returns what this Open generated, to be shown to the operator.
// The passwords are nowhere else: only their hashes are kept. At the next start
// it is empty.
func (p *Provider) Issued() Credentials {
	return Credentials{Passwords: maps.Clone(p.issued.Passwords), Secrets: maps.Clone(p.issued.Secrets)}
}

// ClientSecret returns the secret of a client, configured or generated, empty
// for one that is public or unknown.
func (p *Provider) ClientSecret(id string) string { return p.clients[id].Secret }

// RotateKeys has a new key sign from now on. The old one is published for 12
// hours more, so that tokens that it signed are still good.
func (p *Provider) RotateKeys(ctx context.Context) error {
	if err := p.ring.rotate(ctx, 0); err != nil {
		return fmt.Errorf("rotate keys: %w", err)
	}
	return nil
}

// waitError reports that a password was not checked: there were too many wrong ones.
type waitError struct{ after time.Duration }

func (e *waitError) Error() string {
	return fmt.Sprintf("devidp: too many wrong passwords; try again in %v", e.after)
}

// authenticate checks a password. The answer, and about the time it takes, are
// the same for a name that does not exist and for one that does. The error may be a
// [*waitError].
func (p *Provider) authenticate(ctx context.Context, name, password, address string) (account, bool, error) {
	name = strings.ToLower(name)
	if len(name) > 100 || len(password) > longestPassword {
		return account{}, false, nil
	}
	user, known := p.users[name]
	stored, err := p.readAttempts(ctx, name, known)
	if err != nil {
		return account{}, false, err
	}
	if known {
		p.guard.adopt(name, stored, time.Now())
	}
	if after := p.guard.wait(name, address, time.Now()); after > 0 {
		p.config.Logger.LogAttrs(ctx, slog.LevelWarn, "a login has to wait after wrong passwords",
			slog.String("user", name), slog.String("address", address))
		return account{}, false, &waitError{after}
	}
	p.guard.begin(name, address, time.Now())
	defer func() { p.guard.done(name, time.Now()) }()
	ok, err := p.hasher.Matches(ctx, password, user.Hash)
	if err != nil || !ok {
		p.config.Logger.LogAttrs(ctx, slog.LevelInfo, "a login was refused", slog.String("user", name), slog.String("address", address))
		return account{}, false, errors.Join(err, p.failAttempt(ctx, stored.key))
	}
	if err := p.forgetAttempts(ctx, stored); err != nil {
		return account{}, false, err
	}
	p.guard.succeed(name, address, time.Now())
	return user, true, nil
}

// prove checks the secret of a client.
func prove(client Client, secret string) bool {
	return !client.Public && subtle.ConstantTimeCompare([]byte(client.Secret), []byte(secret)) == 1
}
