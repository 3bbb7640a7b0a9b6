package follow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/iotenablers/enablers/internal/secretfile"
)

// label is the first line of the file; what the control plane has sent follows as it is.
type label struct {
	Version int       `json:"version"`
	Tag     string    `json:"tag"`
	Current time.Time `json:"current"` // when the control plane last said that it is the one
	SHA256  string    `json:"sha256"`
}

const fileVersion = 1

// kept is a configuration as it is in the file.
type kept struct {
	label
	data []byte
}

// readFile reads the file. Without one the error is fs.ErrNotExist.
func readFile(name string) (kept, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return kept{}, err
	}
	line, data, _ := bytes.Cut(text, []byte("\n"))
	k := kept{data: data}
	if err := json.Unmarshal(line, &k.label); err != nil {
		return kept{}, fmt.Errorf("read %q: its first line: %w", name, err)
	}
	if k.Version != fileVersion {
		return kept{}, fmt.Errorf("read %q: its version is %d; expected %d", name, k.Version, fileVersion)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != k.SHA256 {
		return kept{}, fmt.Errorf("read %q: %w", name, errors.New("it is damaged: the checksum differs"))
	}
	return k, nil
}

// writeFile replaces the file in one step.
func writeFile(name string, k kept) error {
	sum := sha256.Sum256(k.data)
	k.Version, k.SHA256 = fileVersion, hex.EncodeToString(sum[:])
	line, err := json.Marshal(k.label)
	if err != nil {
		return err
	}
	return secretfile.Write(name, append(append(line, '\n'), k.data...))
}
