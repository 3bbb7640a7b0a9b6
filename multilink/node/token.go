package node

import "github.com/iotenablers/enablers/internal/secretfile"

// LoadToken reads the token in a file. Where there is no such file it generates a token
// and a file with it, and fresh is true. Only the owner can read the file. After a crash
// the file is complete or does not exist.
func LoadToken(name string) (token string, fresh bool, err error) { return secretfile.Token(name) }
