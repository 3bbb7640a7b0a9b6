package secretfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Token reads the token in a file. Where there is no such file it generates a token and a
// file with it, and fresh is true. Only the owner can read the file. After a crash the
// file is complete or does not exist.
func Token(name string) (token string, fresh bool, err error) {
	data, err := os.ReadFile(name)
	if err == nil {
		token = strings.TrimSpace(string(data))
		if token == "" {
			return "", false, fmt.Errorf("load token from %q: it is empty; remove the file, and a new token is generated", name)
		}
		return token, false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", false, fmt.Errorf("load token: %w", err)
	}
	token = rand.Text()
	if err := Write(name, []byte(token+"\n")); err != nil {
		return "", false, fmt.Errorf("store a new token in %q: %w", name, err)
	}
	return token, true, nil
}
