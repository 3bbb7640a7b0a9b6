package rest

import (
	"github.com/iotenablers/enablers/internal/access"
	"github.com/iotenablers/enablers/internal/secretfile"
)

// ShortestToken is the length below which a token can be guessed: one that is
// shorter is taken with a warning in the log, and one of less than half of it is
// refused. Those that are generated are longer.
const ShortestToken = access.ShortestToken

// LoadToken reads the token in a file. Where there is no such file it generates a token
// and a file with it, and fresh is true. Only the owner can read the file. After a crash
// the file is complete or does not exist.
func LoadToken(name string) (token string, fresh bool, err error) { return secretfile.Token(name) }
