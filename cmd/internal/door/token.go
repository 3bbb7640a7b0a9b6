package door

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/iotenablers/enablers/cmd/internal/sharedsecret"
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/secretfile"
	"github.com/iotenablers/enablers/storage"
)

// tokenKey is the key of the generated token among the documents of sessions.
const tokenKey = "token"

// checkGenerated returns an error for the text of the generated token's file that can be guessed.
func (d *Door) checkGenerated(text string) error {
	if len(text) >= access.ShortestToken {
		return nil
	}
	return fmt.Errorf("load token from %q: it has %d characters, and can be guessed: use %d or more, "+
		"or remove the file, and a new token is generated", d.File, len(text), access.ShortestToken)
}

// generatedToken returns the generated token: that in the file, or in the store if instances
// share that. fresh says that this call has generated it.
func (d *Door) generatedToken(ctx context.Context, config Config) (token string, fresh bool, err error) {
	if !config.Shared {
		return secretfile.Token(d.File)
	}
	var kept struct {
		Token string `json:"token"`
	}
	_, err = storage.Change(ctx, config.Sessions, tokenKey, func(found storage.Document) (data []byte, err error) {
		old := found.Data
		if fresh = old == nil; !fresh {
			if json.Unmarshal(old, &kept) != nil || kept.Token == "" {
				return nil, fmt.Errorf("the document %q in the store is not an access token: restore it from a backup, or remove it "+
					"to have a new token generated", SessionsPrefix+"…/"+tokenKey)
			}
			return nil, nil
		}
		// A server that had a folder before keeps its token.
		if _, err = os.Stat(d.File); err == nil {
			kept.Token, fresh, err = secretfile.Token(d.File)
		} else if errors.Is(err, fs.ErrNotExist) {
			kept.Token, err = rand.Text(), nil
		}
		if err != nil {
			return nil, err
		}
		return json.Marshal(kept)
	})
	if err == nil {
		sharedsecret.Show(d.File, []byte(kept.Token+"\n"), config.Logger)
	}
	return kept.Token, fresh, err
}
