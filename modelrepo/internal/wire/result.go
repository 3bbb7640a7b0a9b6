package wire

import (
	"net/http"
	"strings"
)

// Result is the header field with the effect of a write: a dictionary of booleans
// (RFC 9651). An upload has "overwrote" and "default-set", an update has "changed".
// Older servers do not send it.
const Result = "X-Result"

// The members of a [Result].
const (
	Changed    = "changed"     // the update made a difference
	Overwrote  = "overwrote"   // the upload replaced content
	DefaultSet = "default-set" // the upload set the default format of the version
)

// SetResult adds a member to the Result field of an answer.
func SetResult(header http.Header, name string, value bool) {
	text := name + "=?0"
	if value {
		text = name + "=?1"
	}
	if before := header.Get(Result); before != "" {
		text = before + ", " + text
	}
	header.Set(Result, text)
}

// ReadResult returns a member of the Result field, and whether it is there.
func ReadResult(header http.Header, name string) (value, found bool) {
	for line := range strings.SplitSeq(strings.Join(header.Values(Result), ","), ",") {
		member, _, _ := strings.Cut(strings.Trim(line, " \t"), ";") // parameters mean nothing
		key, text, _ := strings.Cut(member, "=")
		if key == name {
			return text == "" || text == "?1", true
		}
	}
	return false, false
}
