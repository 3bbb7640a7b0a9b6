package rest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// channelParts are the last segments of the routes below a channel.
var channelParts = []string{"mapping", "restart"}

// slashedIDs lets the slashes of a channel's identifier stand in a path as they
// are. Identifiers had them by default, since they began with a topic, and the
// original service demanded %2F for each, which neither clients nor proxies can
// be relied on to send and to keep. A path that ends with the name of a part of
// channels is always that part, whatever channels there are: an identifier with
// such an end must be escaped.
func slashedIDs(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if path, ok := escapeID(req.URL.EscapedPath()); ok {
			changed := new(http.Request)
			*changed = *req
			changed.URL = new(url.URL)
			*changed.URL = *req.URL
			changed.URL.RawPath = path
			req = changed
		}
		next.ServeHTTP(w, req)
	})
}

// escapeID escapes the slashes in the identifier of an escaped path. It reports
// false when there are none.
func escapeID(path string) (string, bool) {
	const prefix = "/channels/"
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok {
		return "", false
	}
	id := strings.TrimSuffix(rest, "/")
	if last := strings.LastIndexByte(id, '/'); last > 0 && slices.Contains(channelParts, id[last+1:]) {
		id = id[:last]
	}
	segments := strings.Split(id, "/")
	if len(segments) < 2 || slices.Contains(segments, ".") || slices.Contains(segments, "..") {
		return "", false // dots are for the router, which removes them
	}
	return prefix + strings.Join(segments, "%2F") + rest[len(id):], true
}
