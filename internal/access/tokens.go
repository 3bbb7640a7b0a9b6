package access

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/iotenablers/enablers/internal/httpapi"
)

const (
	// ShortestToken is the least length of a token in characters. A shorter one can be
	// guessed.
	ShortestToken = 16
	// longestName is the largest length of a name. It is short enough to tell a name from most
	// tokens.
	longestName = 64
	// mostTokens is how many tokens a file may have.
	mostTokens = 10_000
	// tokensAge is the time after which a file is looked at again.
	tokensAge = time.Second
	// tokensPatience is how long a missing file may take to be replaced.
	tokensPatience = time.Minute
)

// digest is the SHA-256 of a credential. A lookup by digest takes a time that says nothing
// about other credentials.
type digest [sha256.Size]byte

func digestCredential(credential string) digest { return sha256.Sum256([]byte(credential)) }

// TokenFile has the tokens of a file. It is created with [OpenTokens], [NewToken] or [NewTokenFrom],
// and is safe for concurrent use. The file of OpenTokens is read again when it has changed. A file without
// tokens, and one that has been missing for a minute, has none. While a new content is not valid,
// the last valid one holds, and the log says so every minute.
type TokenFile struct {
	name string                 // empty for tokens that are not of OpenTokens
	read func() (string, error) // of NewTokenFrom
	log  *slog.Logger

	identity Identity // of what read returns

	mu      sync.Mutex
	known   map[digest]Identity
	checked time.Time
	version fileVersion
	missing time.Time // when the file was first found missing; zero if it exists
	warned  time.Time // of the present fault; zero without one
}

// fileVersion changes when a file does.
type fileVersion struct {
	changed time.Time
	size    int64
}

// OpenTokens reads a file of tokens. Each line is a name, a role and a token of at
// least [ShortestToken] characters, with white space between; empty lines and those that
// begin with # are left out. No name and no token may be there twice. The logger, which
// may be nil, receives what is wrong with later contents. Neither it nor an error shows a
// token.
func OpenTokens(ctx context.Context, name string, log *slog.Logger) (*TokenFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &TokenFile{name: name, log: log}
	version, err := f.stat()
	if err != nil {
		return nil, fmt.Errorf("open tokens: %w", err)
	}
	if f.known, err = readTokens(name); err != nil {
		return nil, fmt.Errorf("open tokens: %w", err)
	}
	if len(f.known) == 0 {
		return nil, fmt.Errorf("open tokens: %s: it has no token, so every caller would be refused: expected lines NAME ROLE TOKEN", name)
	}
	f.version, f.checked = version, time.Now()
	return f, nil
}

// NewToken returns one token that is in no file.
func NewToken(identity Identity, token string) *TokenFile {
	return &TokenFile{known: map[digest]Identity{digestCredential(token): identity}}
}

// NewTokenFrom returns one token, which [TokenFile.Reload] replaces by what read returns then.
func NewTokenFrom(identity Identity, token string, read func() (string, error)) *TokenFile {
	f := NewToken(identity, token)
	f.read, f.identity = read, identity
	return f
}

// CheckToken returns an error for a token that an operator has set and that can be guessed: one
// of less than half of [ShortestToken]. It logs a warning if the token is shorter than that.
// The error and the warning name the setting, and never show the token.
func CheckToken(setting, token string, log *slog.Logger) error {
	if len(token) < ShortestToken/2 {
		return fmt.Errorf("%s: the token has %d characters, and can be guessed: use %d or more",
			setting, len(token), ShortestToken)
	}
	if len(token) < ShortestToken {
		log.Warn("THE TOKEN IS TOO SHORT: a client that reaches the port can guess it; use a longer one",
			"setting", setting, "want", ShortestToken)
	}
	return nil
}

// find returns the identity of a token.
func (f *TokenFile) find(token digest) (Identity, bool) {
	if f == nil {
		return Identity{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refreshLocked()
	identity, ok := f.known[token]
	return identity, ok
}

func (f *TokenFile) refreshLocked() {
	now := time.Now()
	if f.name == "" || now.Sub(f.checked) < tokensAge {
		return
	}
	f.checked = now
	version, err := f.stat()
	if err == nil && version == f.version {
		f.missing, f.warned = time.Time{}, time.Time{}
		return
	}
	var known map[digest]Identity
	if err == nil {
		known, err = readTokens(f.name)
	}
	switch {
	case err == nil:
		f.version, f.known, f.missing, f.warned = version, known, time.Time{}, time.Time{}
		f.log.Info("tokens read again", "file", f.name, "tokens", len(known))
		return
	case !errors.Is(err, fs.ErrNotExist):
		f.missing = time.Time{}
	case f.missing.IsZero():
		f.missing = now
	case now.Sub(f.missing) >= tokensPatience && len(f.known) > 0:
		clear(f.known)
		f.version = fileVersion{} // the same file is read again when it is back
		f.warned = time.Time{}
	}
	if now.Sub(f.warned) >= tokensPatience {
		f.warned = now
		f.log.Error("the tokens have changed and cannot be read", "error", err, "tokens", len(f.known))
	}
}

// Reloads reports whether Reload reads anything.
func (f *TokenFile) Reloads() bool { return f.name != "" || f.read != nil }

// Reload reads the file again. While it cannot be read, the tokens from before hold. Tokens that
// are in no file remain.
func (f *TokenFile) Reload(ctx context.Context) error {
	if err := ctx.Err(); err != nil || !f.Reloads() {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.read != nil {
		token, err := f.read()
		if err != nil {
			return fmt.Errorf("reload token: %w", err)
		}
		f.known = map[digest]Identity{digestCredential(token): f.identity}
		return nil
	}
	version, err := f.stat()
	if err != nil {
		return fmt.Errorf("reload tokens: %w", err)
	}
	known, err := readTokens(f.name)
	if err != nil {
		return fmt.Errorf("reload tokens: %w", err)
	}
	f.version, f.known, f.checked = version, known, time.Now()
	f.missing, f.warned = time.Time{}, time.Time{}
	return nil
}

func (f *TokenFile) stat() (fileVersion, error) {
	info, err := os.Stat(f.name)
	if err != nil {
		return fileVersion{}, err
	}
	return fileVersion{info.ModTime(), info.Size()}, nil
}

func readTokens(name string) (map[digest]Identity, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseTokens(name, text)
}

// parseTokens reads the lines of a file of that name.
func parseTokens(name string, text []byte) (map[digest]Identity, error) {
	known, names := map[digest]Identity{}, map[string]int{} // by the line of the name
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		wrong := func(format string, arguments ...any) error {
			return fmt.Errorf("%s:%d: %s", name, number, fmt.Sprintf(format, arguments...))
		}
		switch {
		case len(fields) != 3:
			return nil, wrong("expected NAME ROLE TOKEN, got %d words", len(fields))
		case !httpapi.IsRole(fields[1]):
			return nil, wrong("the second word must be one of the roles %s", httpapi.Roles())
		case len(fields[2]) < ShortestToken:
			return nil, wrong("the token has %d characters, and can be guessed: use %d or more", len(fields[2]), ShortestToken)
		case len(fields[0]) > longestName:
			return nil, wrong("the name has %d characters, and may have %d: is it the token?", len(fields[0]), longestName)
		case names[fields[0]] > 0:
			return nil, wrong("the name is that of line %d too", names[fields[0]])
		case len(known) == mostTokens:
			return nil, wrong("more than %d tokens", mostTokens)
		}
		sum := digestCredential(fields[2])
		if other, ok := known[sum]; ok {
			return nil, wrong("the token is that of line %d too", names[other.Name])
		}
		names[fields[0]] = number
		known[sum] = Identity{Name: fields[0], Role: httpapi.Role(fields[1])}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return known, nil
}
