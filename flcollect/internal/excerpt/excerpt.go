// Package excerpt bounds the texts that a job stores and shows: reasons, notes and names
// that clients and other systems have a part in.
package excerpt

import (
	"strings"
	"unicode/utf8"
)

// Bounds of stored texts in bytes.
const (
	MaxReason = 500  // of the reason of an error
	MaxNote   = 2000 // of the note of a round
	MaxClient = 200  // of the name of a client
)

// Cut returns the text, shortened to at most so many bytes between characters and
// marked with an ellipsis where it is longer. Bytes that are not UTF-8 are replaced.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	text = text[:most]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// Reason returns the text of an error, cut to [MaxReason].
func Reason(err error) string { return Cut(err.Error(), MaxReason) }

// Client returns the name of a client, cut to [MaxClient].
func Client(name string) string { return Cut(name, MaxClient) }
