package wire

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/iotenablers/enablers/modelrepo"
	"github.com/iotenablers/enablers/modelrepo/internal/tus"
)

// ParseChecksum reads the value of an Upload-Checksum field (tus 1.0, extension
// checksum): the name of the algorithm, a space, and the sum in base64. An empty value
// announces nothing. The error matches [modelrepo.ErrInvalid].
func ParseChecksum(value string) (modelrepo.Checksum, error) {
	if value == "" {
		return modelrepo.Checksum{}, nil
	}
	algorithm, text, _ := strings.Cut(value, " ")
	c := modelrepo.Checksum{Algorithm: algorithm}
	sum := tus.NewHash(algorithm)
	if sum == nil {
		return modelrepo.Checksum{}, fmt.Errorf("parse Upload-Checksum %.200q: %w: the algorithm is not one of %s",
			value, modelrepo.ErrInvalid, tus.Algorithms)
	}
	var err error
	if c.Sum, err = base64.StdEncoding.DecodeString(text); err != nil || len(c.Sum) != sum.Size() {
		return modelrepo.Checksum{}, fmt.Errorf("parse Upload-Checksum %.200q: %w: expected the base64 form of %d bytes",
			value, modelrepo.ErrInvalid, sum.Size())
	}
	return c, nil
}

// FormatChecksum returns the checksum as [ParseChecksum] reads it.
func FormatChecksum(c modelrepo.Checksum) string {
	if c.Algorithm == "" {
		return ""
	}
	return c.Algorithm + " " + base64.StdEncoding.EncodeToString(c.Sum)
}
