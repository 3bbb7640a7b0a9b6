package secretfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Token reads the token in a file. If the file is absent, it generates a token and a
// file with it, and fresh is true. Only the owner can read the file. After a crash the
// file is complete or does not exist. A file that has the beginning of a generated token is
// refused, since it was truncated. Any other text is a token that an operator has chosen.
func Token(name string) (token string, fresh bool, err error) {
	if token, err = ReadToken(name); !errors.Is(err, fs.ErrNotExist) {
		return token, false, err
	}
	token = rand.Text()
	if err := Write(name, []byte(token+"\n")); err != nil {
		return "", false, fmt.Errorf("store a new token in %q: %w", name, err)
	}
	return token, true, nil
}

// ReadToken is Token for a file that has to exist.
func ReadToken(name string) (string, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("load token: %w", err)
	}
	token, err := decodeToken(string(data))
	if err != nil {
		return "", fmt.Errorf("load token from %q: %w: restore the file from a backup, "+
			"or remove it to have a new token generated", name, err)
	}
	return token, nil
}

const (
	generatedLength   = 26 // of rand.Text
	generatedAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// decodeToken returns the token in the content of a file. A generated token ends with a line
// feed, which a truncated one has lost.
func decodeToken(content string) (string, error) {
	token := strings.TrimSpace(content)
	switch {
	case token == "":
		return "", errors.New("it is empty")
	case len(content) < generatedLength && strings.Trim(content, generatedAlphabet) == "":
		return "", fmt.Errorf("it was truncated to the first %d characters of a generated token "+
			"(a chosen one ends with a line feed)", len(content))
	}
	return token, nil
}
