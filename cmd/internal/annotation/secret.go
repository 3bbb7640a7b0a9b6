package annotation

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/iotenablers/enablers/annotate/manager"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/storage"
)

// SecretFile is the name of the file with the generated secret.
const SecretFile = "encryption-secret"

// SecretConfig configures [Unlock]. All fields but Secret are required.
type SecretConfig struct {
	// Documents are those of the channels.
	Documents storage.Documents
	// Dir is the folder.
	Dir string
	// Secret is the secret of the settings; empty means the generated one.
	Secret string
	// Setting is the name of that setting, for errors.
	Setting string
	// Logger logs where the secret is.
	Logger *slog.Logger
}

// Unlock returns the secret that encrypts user names and passwords of channels. One that is not
// given is generated at the first start into the file encryption-secret of the folder, which only
// its owner can read. It keeps passwords out of copies of store.db alone; a reader of the whole
// folder can read them. A backup needs both files.
//
// Credentials that earlier versions have stored in clear are encrypted. Without the secret that
// encrypted the stored credentials the error says which file is missing.
func Unlock(ctx context.Context, config SecretConfig) (secret string, err error) {
	o := opening{SecretConfig: config, file: filepath.Join(config.Dir, SecretFile)}
	return o.secret(ctx)
}

// opening is a folder whose secret is not known yet.
type opening struct {
	SecretConfig
	file string
}

// secret returns the secret, and encrypts with it all credentials that can be read.
func (o opening) secret(ctx context.Context) (string, error) {
	kept, err := o.read()
	if err != nil {
		return "", err
	}
	secret := o.Secret
	switch {
	case secret != "" && kept != "" && secret != kept:
		o.Logger.Warn("the secret in the file is not used any more, since one is given", "file", o.file, "by", o.Setting)
	case secret == "" && kept == "":
		secret, err = o.generate(ctx)
	case secret == "":
		secret, err = kept, o.verify(ctx, kept)
	}
	if err != nil {
		return "", err
	}
	if o.Secret == "" {
		o.Logger.Info("user names and passwords of channels are stored encrypted; back the secret up with the folder", "secret", o.file)
	}
	count, err := manager.ResealCredentials(ctx, o.Documents, secret, kept)
	if count > 0 {
		o.Logger.Info("user names and passwords that were stored in clear, or under another secret, are encrypted now", "topics", count)
	}
	return secret, err
}

// read returns the secret in the file, empty if there is none.
func (o opening) read() (string, error) {
	data, err := os.ReadFile(o.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the encryption secret: %w", err)
	}
	secret := strings.TrimSpace(string(data))
	if len(secret) != manager.SecretLength {
		return "", fmt.Errorf("read the encryption secret from %q: expected %d bytes, got %d: "+
			"restore the file from a backup, or give the secret by %s", o.file, manager.SecretLength, len(secret), o.Setting)
	}
	return secret, nil
}

// generate generates a secret into the file, unless there are credentials that another
// secret has encrypted.
func (o opening) generate(ctx context.Context) (string, error) {
	counts, err := manager.CountCredentials(ctx, o.Documents, "")
	if err != nil {
		return "", err
	}
	if counts.Lost > 0 {
		return "", fmt.Errorf("the user names and passwords of %d topics are stored encrypted, but there is no %q: "+
			"restore the file from a backup, or give the secret by %s; under any other secret these channels do not start",
			counts.Lost, o.file, o.Setting)
	}
	random := make([]byte, manager.SecretLength*3/4)
	rand.Read(random) // never fails
	secret := base64.RawURLEncoding.EncodeToString(random)
	if err := secretfile.Write(o.file, []byte(secret+"\n")); err != nil {
		return "", fmt.Errorf("keep a new encryption secret in %q: %w", o.file, err)
	}
	return secret, nil
}

// verify refuses a secret from the file that decrypts none of the stored credentials.
func (o opening) verify(ctx context.Context, secret string) error {
	counts, err := manager.CountCredentials(ctx, o.Documents, secret)
	switch {
	case err != nil:
		return err
	case counts.Lost > 0 && counts.Sealed == 0:
		return fmt.Errorf("the secret in %q does not decrypt the user names and passwords of any of %d topics: "+
			"restore the file from a backup, or give the secret by %s", o.file, counts.Lost, o.Setting)
	case counts.Lost > 0:
		o.Logger.Warn("some user names and passwords were stored under another secret; their channels do not start",
			"topics", counts.Lost, "secret", o.file)
	}
	return nil
}
